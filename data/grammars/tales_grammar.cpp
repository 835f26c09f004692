#include "data/grammars/tales_grammar.h"

#include <string_view>

#include "core/text/split_at.h"
#include "data/grammars/stories_grammar.h"

namespace tapeformer {

namespace {

// In each list no word is a prefix of another, so that a story determines the draws (stories_grammar.cpp).
// clang-format off
constexpr std::string_view kGirls =
    "Ada Agnes Alice Amber Anna Bella Bertha Beth Bridget Celia Chloe Clara Daisy Dora Edith Ella Elsie Emma Esther "
    "Fay Fiona Flora Freya Gemma Gloria Grace Greta Hannah Hazel Heidi Helen Ida Ingrid Iris Ivy Jane Jenny Jill "
    "Joan Judith Julia June Kate Kitty Laura Lena Lily Linda Lola Lucy Luna Mabel Maud Mavis Mia Mina Molly Nancy "
    "Nell Nora Olga Olive Pearl Petra Polly Poppy Rita Rosie Ruby Ruth Sally Selma Sonia Stella Susan Tania Tilda "
    "Tina Una Vera Viola Wanda Wilma Zelda Zoe";
constexpr std::string_view kBoys =
    "Alan Albert Alfie Arthur Axel Barney Ben Bill Boris Bruno Carl Caspar Clive Colin Conrad Cyril Dan Dennis Dirk "
    "Doug Edgar Emil Eric Ernest Felix Finn Frank Fred Gary George Gilbert Gus Hamish Harry Hector Henry Herbert "
    "Hugo Ian Igor Ivan Jack Jasper Jim Joe Jonas Karl Keith Kevin Lars Leo Leslie Louis Luke Magnus Mark Max Miles "
    "Morris Ned Nigel Noah Oscar Otto Owen Patrick Paul Percy Peter Philip Ralph Ray Rex Robin Roger Rupert Sam "
    "Simon Stan Ted Theo Toby Tom Victor Walter Wilbur Xaver";
// Colours and other looks of a thing; none begins with a vowel, which would need "an".
constexpr std::string_view kColours =
    "beige black blue brass bronze brown checked chequered copper coral cream crimson dotted fawn ginger glass "
    "golden green grey hazel jade khaki lemon lilac linen maroon mauve mustard navy painted pearly peach pink plaid "
    "purple red rosy ruby russet rusty scarlet sandy silver spotted straw striped tan teal tin turquoise velvet "
    "violet white woollen wooden yellow";
constexpr std::string_view kToys =
    "apron bag ball banjo barrow basin bell belt bicycle blanket boat bottle bowl box bracelet brush bugle "
    "button candle cap carpet cart chain chair chest clock coat coin comb compass cradle crown cup curtain cushion "
    "dish doll drum easel fan feather fiddle flag flute fork frame glove goblet guitar hammer harp hat helmet hoop "
    "horn jacket jar jug kettle key kite knot ladder lamp lantern lute marble mask medal mirror mitten mug necklace "
    "needle notebook oar organ paddle pan parasol pebble pen piano pillow pipe plate pot puppet purse puzzle quill "
    "quilt racket rattle ribbon ring robe rope rug sack saddle scarf scooter shawl shield shoe shovel skate sled "
    "slipper sock spade spoon stamp stool stove swing tambourine tent thimble top torch tower tray trumpet umbrella "
    "vase vest violin wagon wheel whistle wig wreath yoyo";
// Animals that live in the same place, eat the same food and move in the same way.
struct Animals {
  const char *home, *food, *went;
  std::string_view kinds;
};
const Animals kAnimals[] = {
    {"burrow", "carrots", "hopped",
     "badger beetle chick gerbil hamster hare hedgehog koala kangaroo mole rabbit shrew vole wombat worm"},
    {"cave", "honey", "walked",
     "bat bear bison buffalo camel elk hyena ibex leopard lion moose panda panther puma tiger yak"},
    {"hole", "cheese", "crept",
     "crab cricket ferret gecko gnat lizard lobster marmot moth mouse rat skunk snail snake spider stoat viper "
     "wasp weasel"},
    {"nest", "bread", "fluttered",
     "canary crane crow dove duck eagle falcon finch goose gull hawk hen heron jay lark magpie owl parrot peacock "
     "pelican penguin puffin quail raven robin rook sparrow stork swallow swan turkey wren"},
    {"pond", "flies", "jumped", "beaver frog hippo newt otter salmon seal toad trout turtle walrus whale"},
    {"tree", "nuts", "ran", "gibbon lemur monkey raccoon sloth squirrel"},
    {"den", "berries", "trotted", "coyote dingo fox jackal lynx wolf"},
    {"basket", "fish", "tiptoed", "cat cobra cub dog kitten"},
    {"sty", "apples", "plodded", "boar pig"},
    {"stable", "oats", "galloped", "colt cow deer donkey emu foal goat horse lamb llama pony stag zebra"},
};
// clang-format on

std::vector<GrammarVariable> tales_variables() {
  GrammarVariable hero{"hero", {"name", "he", "He", "him", "his", "His"}, {}};
  for (const std::string_view name : split_at(kGirls, ' ')) {
    hero.rows.push_back({1, {std::string(name), "she", "She", "her", "her", "Her"}});
  }
  for (const std::string_view name : split_at(kBoys, ' ')) {
    hero.rows.push_back({1, {std::string(name), "he", "He", "him", "his", "His"}});
  }
  GrammarVariable animal{"animal", {"kind", "home", "food", "went"}, {}}, friend_of_hero{"friend", {"kind"}, {}};
  for (const Animals& alike : kAnimals) {
    for (const std::string_view kind : split_at(alike.kinds, ' ')) {
      animal.rows.push_back({1, {std::string(kind), alike.home, alike.food, alike.went}});
      friend_of_hero.rows.push_back({1, {std::string(kind)}});
    }
  }
  GrammarVariable colour{"colour", {"name"}, {}}, toy{"toy", {"name"}, {}};
  for (const std::string_view name : split_at(kColours, ' ')) colour.rows.push_back({1, {std::string(name)}});
  for (const std::string_view name : split_at(kToys, ' ')) toy.rows.push_back({1, {std::string(name)}});
  return {hero, animal, colour, toy, friend_of_hero};
}

}  // namespace

const Grammar& tales_grammar() {
  static const Grammar grammar = story_grammar(tales_variables());
  return grammar;
}

}  // namespace tapeformer
