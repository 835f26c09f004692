#!/usr/bin/env bash
# Runs the commands of docs/tour.md and compares what they print with what the page says.
#
#   scripts/tour.sh [--quick] [--page FILE.md] [--out FOLDER] [SECTION ...]
#
# SECTION is the beginning of a heading: only those sections run. --quick runs only the blocks marked `quick`, which need
# no training. Each section has a folder of its own in FOLDER (runs/tour), which is emptied first; what its blocks print
# stays there. The program is build/tapeformer, or $TAPEFORMER.
#
# In the page a block begins with ```sh or ```sh quick, and is run by bash. The line after it begins with → and says what
# it prints: `text` alone must be in the output (white space counts as one space); `place` = 1.5 ± 0.1, < 2 or > 1 is a
# number of the JSON at the end of the output, found by keys and indices, such as `laws/0/points`. Without ± it must be equal.
# `file.html: text` must be in that page, which the block writes.
set -euo pipefail

quick=0 page=docs/tour.md out=runs/tour sections=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --page) page=$(realpath -ms -- "$2") && shift ;;
    --out) out=$(realpath -ms -- "$2") && shift ;;
    -*) echo "tour.sh: unknown option $1" >&2 && exit 2 ;;
    *) sections+=("$1") ;;
  esac
  shift
done
[ -z "${TAPEFORMER:-}" ] || TAPEFORMER=$(realpath -m -- "$TAPEFORMER")
cd "$(dirname "$(readlink -f "$0")")/.."
program=$(realpath -m "${TAPEFORMER:-build/tapeformer}") out=$(realpath -ms -- "$out")
[ -x "$program" ] || { echo "tour.sh: $program is not there: scripts/build.sh makes it" >&2; exit 1; }
export PATH=$out/bin:$PATH ROOT=$PWD

exec perl -CSDA -Mutf8 - "$quick" "$page" "$out" "$program" "$PWD" ${sections[@]+"${sections[@]}"} <<'PERL'
use strict;
use warnings;
use File::Path qw(make_path remove_tree);
use JSON::PP;
use Time::HiRes qw(time);

my ($quick, $page, $out, $program, $root, @sections) = @ARGV;

sub read_text {
  my ($path) = @_;
  open my $in, '<', $path or die "cannot open $path: $!\n";
  local $/;
  return scalar <$in> // '';
}

# Returns the blocks of the page: section, line, quick, commands, and what they print.
sub blocks_of {
  my ($number, $section, @blocks, $block, $in_block) = (0, '');
  for my $line (split /\n/, read_text($page)) {
    ++$number;
    if ($in_block) {
      $in_block = $line ne '```';
      $block->{commands} .= "$line\n" if $in_block;
    } elsif ($line =~ /^```sh( quick)?$/) {
      die "$page:$block->{line}: expected a line that begins with → after the block\n" if $block;
      ($block, $in_block) = ({section => $section, line => $number, quick => !!$1, commands => ''}, 1);
    } elsif ($line =~ /^→ (.*)/ and $block) {
      $block->{items} = [items_of("$page:$number", $1)];
      push @blocks, $block;
      undef $block;
    } elsif ($line =~ /^#+ (.*)/) {
      $section = $1;
    }
  }
  die "$page:$block->{line}: expected a line that begins with → after the block\n" if $block;
  die "$page: expected blocks that begin with \`\`\`sh\n" unless @blocks;
  return @blocks;
}

sub items_of {
  my ($where, $text) = @_;
  my @items;
  while ($text =~ /`([^`]+)`(?:\s*([=<>])\s*([-+\d.e,]*\d)(?:\s*±\s*([\d.e-]*\d))?)?/g) {
    my %item = (where => $where, name => $1, sign => $2, value => $3, within => $4);
    $item{value} =~ s/,//g if defined $item{value};
    push @items, \%item;
  }
  die "$where: expected what the block prints in backticks\n" unless @items;
  return @items;
}

# Returns the number at a place in the JSON at the end of the output; undef if there is none.
sub number_at {
  my ($output, $place) = @_;
  my ($json) = $output =~ /(?:.*\n)?^([\[{].*)/ms;
  my $at = eval { JSON::PP->new->decode($json // '') };
  for my $key (split m{/}, $place) {
    $at = ref $at eq 'ARRAY' && $key =~ /^\d+$/ ? $at->[$key] : ref $at eq 'HASH' ? $at->{$key} : undef;
  }
  return ref $at eq '' || JSON::PP::is_bool($at) ? $at : undef;
}

# Returns what is wrong with the output; '' if it is what the page says.
sub compare {
  my ($item, $output) = @_;
  if (!defined $item->{sign}) {
    my ($file, $text) = $item->{name} =~ /^(\S+\.html): (.+)/;
    return "expected `$item->{name}`, but there is no such page" if $file && !-f $file;
    my ($all, $part) = map { s/\s+/ /gr } $file ? (read_text($file), $text) : ($output, $item->{name});
    return index($all, $part) >= 0 ? '' : "expected `$item->{name}`, which is not in the " . ($file ? 'page' : 'output');
  }
  my $got = number_at($output, $item->{name});
  my $within = $item->{within} // abs($item->{value}) * 1e-9;
  my $holds = defined $got
    && ($item->{sign} eq '<' ? $got < $item->{value} : $item->{sign} eq '>' ? $got > $item->{value} : abs($got - $item->{value}) <= $within);
  my $tolerance = defined $item->{within} ? " ± $item->{within}" : '';
  return $holds ? '' : "expected `$item->{name}` $item->{sign} $item->{value}$tolerance, got " . ($got // 'none');
}

my @blocks = grep { my $block = $_; !@sections || grep { index($block->{section}, $_) == 0 } @sections } blocks_of();
@blocks = grep { $_->{quick} } @blocks if $quick;
die "$page: no block is chosen\n" unless @blocks;
make_path($out);
make_path("$out/bin");
unlink "$out/bin/tapeformer";
symlink $program, "$out/bin/tapeformer" or die "cannot link $program: $!\n";

my (@failures, $folder, $section, $count);
my $begin = time;
for my $block (@blocks) {
  if (!defined $section or $section ne $block->{section}) {
    $section = $block->{section};
    $folder = "$out/" . (lc($section) =~ s/[^a-z0-9]+/-/gr);
    remove_tree($folder);
    make_path($folder);
    symlink "$root/configs", "$folder/configs" or die "cannot link the configurations: $!\n";
    $count = 0;
    print "== $section\n";
  }
  ++$count;
  chdir $folder or die "cannot enter $folder: $!\n";
  open my $script, '>', "$count.sh" or die "cannot write $folder/$count.sh: $!\n";
  print $script "set -euo pipefail\ntrap 'exit 130' INT  # a training that Ctrl-C stops returns 0\n$block->{commands}";
  close $script;
  my $started = time;
  my $code = system "bash $count.sh < /dev/null > $count.out 2> $count.err";
  exit 130 if ($code & 127) == 2 or $code >> 8 == 130;  # sh, or the block, by Ctrl-C
  my $output = read_text("$count.out");
  my @wrong;
  if ($code != 0) {
    my @lines = split /\n/, read_text("$count.err");
    push @wrong, "$page:$block->{line}: failed: " . ($lines[-1] // 'without a message');
  } else {
    push @wrong, map { my $wrong = compare($_, $output); $wrong eq '' ? () : "$_->{where}: $wrong" } @{$block->{items}};
  }
  chdir $root;
  my ($first) = split /\n/, $block->{commands};
  printf "%s %5.1f s  %s\n", @wrong ? 'FAILED' : 'ok    ', time - $started, $first;
  push @failures, @wrong;
}
printf "%d blocks in %.0f s, their output in %s\n", scalar @blocks, time - $begin, $out;
print "$_\n" for @failures;
exit(@failures ? 1 : 0);
PERL
