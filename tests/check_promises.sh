#!/usr/bin/env bash
# Checks that each test case that docs/reliability.md names is there, in the folder that it names; `…` in a name is for
# any text. Prints those that are missing, and fails if there is one.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

exec perl -CSD -Mutf8 - docs/reliability.md <<'PERL'
use strict;
use warnings;

# The names of the test cases in a folder of tests.
my %known;
sub names_in {
  my ($folder) = @_;
  return $known{$folder} //= do {
    my @names;
    for my $file (split /\n/, `find tests/$folder -name '*.cpp' 2>/dev/null`) {
      open my $in, '<', $file or die "cannot open $file: $!\n";
      my $text = do { local $/; <$in> };
      while ($text =~ /^TEST_CASE(?:_TEMPLATE)?\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)/mg) {
        my $name = $1;
        $name =~ s/"\s*"//g;
        $name =~ s/^"|"\s*$//g;
        push @names, $name =~ s/\\(.)/$1/gr;
      }
    }
    \@names;
  };
}

my ($promises, $missing) = (0, 0);
while (<>) {
  next unless /^\|/ and not /^\|\s*(?:promise\s*\||---)/;
  my $tests = (split /(?<!\\)\|/)[2];
  my ($folder, $named) = ('', 0);
  while ($tests =~ /\b(\w+):\s|`([^`]+)`/g) {
    if (defined $1) {
      $folder = $1;
      next;
    }
    my $name = $2;
    ++$named;
    next if $name =~ m{^\w+/} and -e $name;    # a script
    my $pattern = join '.*', map { quotemeta } split /\s*…\s*/, $name, -1;
    next if grep { /^$pattern$/ } @{names_in($folder)};
    print "docs/reliability.md:$.: tests/$folder has no test case \"$name\"\n";
    ++$missing;
  }
  if (!$named) {
    print "docs/reliability.md:$.: a promise without a test\n";
    ++$missing;
  }
  ++$promises;
}
die "docs/reliability.md: no promises found\n" unless $promises;
exit($missing ? 1 : 0);
PERL
