#!/usr/bin/env perl
# Writes splits.txt: GPT-2's pattern, as published, run by Perl's own regular expressions on fixed texts.
#   perl make_splits.pl > splits.txt
# A line is the pieces of one text, each as the hexadecimal of its UTF-8 bytes, apart by spaces.
use strict;
use warnings;
use utf8;
use Encode qw(encode);

my $pattern = qr/'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/;

my @texts = (
  "Hello, world!", "I'm sure they'll say it's what we've done; I'd say you're right, don't you?",
  "'s 's' ''s 'S 'LL 'lll 'r 'v 're've 'mm '", "year 1984, 3.14 and 10x 2nd",
  "a  b   c    d", "trailing   ", "   leading",
  "tabs\t\tand\nnew\n\nlines \n end\r\n", "\n", " ", "  ", "\n\n  x",
  " \n x", "x \x{3000}y \x{A0}z\x{2028}",
  "naïve café über ÀÉ",
  "Привет, мир! 你好世界 こんにちは 한국어", "½ ² Ⅻ ٣٤ 一",
  "🙂🙂 hi 👩‍👩‍👧 \x{1F1E9}\x{1F1EA}",
  "e\x{301}a \x{302}b", "\x{0}\x{1}\x{1F}\x{7F} \x{85}\x{200B}x",
  "snake_case __init__ C++ <|endoftext|> http://a.b/c?d=e",
  "\x{FEFF}bom \x{FFFD} \x{10FFFF}\x{E000}", "ªºµ ʰ ℵ ⁵ ① 𝔘 𝟘",
);

# Random texts over characters that matter to the pattern, by a fixed linear congruential generator.
my @alphabet = ("'", "'", ' ', ' ', ' ', "\n", "\t", "\x{A0}", "\x{3000}", 's', 't', 'r', 'e', 'v', 'm', 'l', 'd', 'S',
  'é', 'я', '語', '1', '٣', '½', '.', '-', '🙂', "\x{301}", "\x{0}");
my $state = 12345;
for (1 .. 400) {
  my $text = '';
  for (0 .. 1 + $_ % 24) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    $text .= $alphabet[($state >> 16) % @alphabet];
  }
  push @texts, $text;
}

for my $text (@texts) {
  utf8::upgrade($text);
  my @pieces = $text =~ /$pattern/g;
  die "the pieces are not the text" unless join('', @pieces) eq $text;
  print join(' ', map { unpack 'H*', encode('UTF-8', $_) } @pieces), "\n";
}
