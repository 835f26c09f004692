#include <doctest/doctest.h>

#include "core/text/shell_word.h"

using namespace tapeformer;

TEST_CASE("shell word: a name is quoted where a shell or a command would read it in another way") {
  CHECK(shell_word("runs/mine-2_a.b:c@d+e") == "runs/mine-2_a.b:c@d+e");
  CHECK(shell_word("my runs") == "'my runs'");
  CHECK(shell_word("it's $x") == "'it'\\''s $x'");
  CHECK(shell_word("~run") == "'~run'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("-run") == "./-run");
}
