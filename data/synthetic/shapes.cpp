#include "data/synthetic/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace tapeformer {
namespace {

struct NamedColor {
  std::string_view name;
  std::array<int, 3> rgb;
};
constexpr std::array<NamedColor, 5> kShapeColors{{{"red", {210, 45, 45}},
                                                  {"green", {40, 150, 60}},
                                                  {"blue", {50, 80, 210}},
                                                  {"yellow", {225, 190, 40}},
                                                  {"purple", {140, 60, 170}}}};

// Whether the point (x, y), in pixels from the centre of the shape, is within it.
using ShapeTest = bool (*)(double x, double y);
struct NamedShape {
  std::string_view name;
  ShapeTest contains;
};
constexpr std::array<NamedShape, 4> kShapes{
    {{"circle", [](double x, double y) { return x * x + y * y <= 3.1 * 3.1; }},
     {"square", [](double x, double y) { return std::max(std::abs(x), std::abs(y)) <= 2.7; }},
     {"triangle", [](double x, double y) { return std::abs(y) <= 3 && std::abs(x) <= (y + 3) / 2; }},
     {"cross", [](double x, double y) {
        return std::max(std::abs(x), std::abs(y)) <= 3 && std::min(std::abs(x), std::abs(y)) <= 1.25;
      }}}};

struct ShapeObject {
  std::int64_t cell;  // in reading order
  std::size_t color, shape;

  std::int64_t row() const { return cell / kShapeCells; }
  std::int64_t column() const { return cell % kShapeCells; }
  std::string words() const { return str_cat(kShapeColors[color].name, ' ', kShapes[shape].name); }
};

std::vector<ShapeObject> draw_objects(RandomStream& random) {
  std::vector<ShapeObject> objects;
  const std::uint64_t count = 1 + random.below(3);
  while (objects.size() < count) {
    const ShapeObject object{static_cast<std::int64_t>(random.below(kShapeCells * kShapeCells)),
                             random.below(kShapeColors.size()), random.below(kShapes.size())};
    if (std::ranges::count(objects, object.cell, &ShapeObject::cell) == 0) objects.push_back(object);
  }
  std::ranges::sort(objects, {}, &ShapeObject::cell);
  return objects;
}

// Calls object(o) and between(text) for the parts of the caption in their order.
template <class OnObject, class OnWords>
void for_caption(const std::vector<ShapeObject>& objects, const OnObject& object, const OnWords& between) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) between(objects[i].row() > objects[i - 1].row() ? "above" : "left of");
    object(objects[i]);
  }
}

std::string caption_of(const std::vector<ShapeObject>& objects) {
  std::string caption;
  for_caption(
      objects, [&](const ShapeObject& object) { caption += object.words(); },
      [&](std::string_view words) { caption += str_cat(' ', words, ' '); });
  return caption;
}

std::uint8_t channel(double value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)); }

void paint(Image& image, const ShapeObject& object, RandomStream& random) {
  std::array<double, 3> rgb;
  for (std::size_t c = 0; c < 3; ++c) rgb[c] = kShapeColors[object.color].rgb[c] + 40 * (random.uniform() - 0.5);
  const auto centre = [&](std::int64_t cell) {
    return static_cast<double>(cell * kCellPixels) + kCellPixels / 2.0 + 1.5 * (random.uniform() - 0.5);
  };
  const double x = centre(object.column()), y = centre(object.row());
  for (std::int64_t i = 0; i < kCellPixels * kCellPixels; ++i) {
    const std::int64_t row = object.row() * kCellPixels + i / kCellPixels;
    const std::int64_t column = object.column() * kCellPixels + i % kCellPixels;
    if (!kShapes[object.shape].contains(static_cast<double>(column) + 0.5 - x, static_cast<double>(row) + 0.5 - y))
      continue;
    for (std::size_t c = 0; c < 3; ++c) image.rgb[(row * kShapeImage + column) * 3 + c] = channel(rgb[c]);
  }
}

}  // namespace

std::string shapes_line(RandomStream& random) {
  const std::vector<ShapeObject> objects = draw_objects(random);
  std::string scene;
  for (const ShapeObject& object : objects) {
    scene += str_cat(scene.empty() ? "" : ", ", static_cast<char>('a' + object.column()), object.row() + 1, ' ',
                     object.words());
  }
  return str_cat(scene, '\t', caption_of(objects), '\n');
}

CaptionedImage shapes_image(RandomStream& random) {
  const std::vector<ShapeObject> objects = draw_objects(random);
  CaptionedImage result{
      {kShapeImage, kShapeImage, std::vector<std::uint8_t>(kShapeImage * kShapeImage * 3)}, caption_of(objects), {}};
  const double background = 110 + 35 * random.uniform();
  for (std::uint8_t& value : result.image.rgb) value = channel(background + 8 * (random.uniform() - 0.5));
  for (const ShapeObject& object : objects) paint(result.image, object, random);
  for_caption(
      objects,
      [&](const ShapeObject& object) {
        const Place place{object.column() * kCellPixels + kCellPixels / 2,
                          object.row() * kCellPixels + kCellPixels / 2};
        result.places.insert(result.places.end(), 2, place);
      },
      [&](std::string_view words) { result.places.resize(result.places.size() + 1 + std::ranges::count(words, ' ')); });
  return result;
}

}  // namespace tapeformer
