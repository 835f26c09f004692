// Opens pages in a browser, where there is one.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/sanitizers.h"
#include "tests/temp_folder.h"

#define TAPEFORMER_CHROMIUM \
  "timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=browser"

// Whether there is a browser; says that the test is left out where there is none. Pages are the same in all builds, so
// one with AddressSanitizer, whose tests take long enough, opens none.
inline bool has_browser() {
#ifdef TAPEFORMER_ADDRESS_SANITIZER
  MESSAGE("left out: the tests without sanitizers open pages");
  return false;
#else
  static const bool found = [] {
    const TempFolder folder;
    return std::system(
               ("cd " + folder.path.string() + " && " TAPEFORMER_CHROMIUM " --dump-dom about:blank > dom.html 2> log")
                   .c_str()) == 0;
  }();
  if (!found) MESSAGE("left out: there is no chromium here, or it does not start");
  return found;
#endif
}

// The document after its scripts have run in a window of that size. Fails the test for whatever the page writes to the
// console, such as an error.
inline std::string opened(std::string_view page, const std::string& window = "1000,1400") {
  const TempFolder folder;
  folder.write("page.html", page);
  const std::string command = "cd " + folder.path.string() + " && " TAPEFORMER_CHROMIUM " --window-size=" + window +
                              " --enable-logging=stderr --dump-dom file://$PWD/page.html"
                              " > dom.html 2> log";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(read_all(folder.path / "log").find("CONSOLE") == std::string::npos);
  return read_all(folder.path / "dom.html");
}

// The data that a page holds.
inline nlohmann::ordered_json data_of(const std::string& page) {
  const std::size_t begin = page.find("id=\"data\">") + 10;
  return nlohmann::ordered_json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

inline std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What a script of a test has put into the document as <p>NAME: …</p>.
inline std::string told(std::string_view dom, const std::string& name) {
  const std::string head = "<p>" + name + ": ";
  const std::size_t begin = dom.find(head);
  if (begin == dom.npos) return "";
  return std::string(dom.substr(begin + head.size(), dom.find("</p>", begin) - begin - head.size()));
}

// The page with a script behind its own ones.
inline std::string with_script(std::string page, std::string_view script) {
  page.replace(page.rfind("</body>"), 7, "<script>" + std::string(script) + "</script></body>");
  return page;
}
