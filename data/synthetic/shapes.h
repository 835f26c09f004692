// A generated corpus of images: coloured shapes in the cells of a grid, with captions that the images determine.
#pragma once

#include <string>

#include "core/random.h"
#include "data/images/captioned_images.h"

namespace tapeformer {

// The grid has kShapeCells · kShapeCells cells of kCellPixels · kCellPixels pixels.
inline constexpr std::int64_t kShapeCells = 4, kCellPixels = 8, kShapeImage = kShapeCells * kCellPixels;

// Draws "a2 red square, c4 blue circle\tred square above blue circle\n": one to three shapes and their cells in reading
// order, and the caption, which names them in that order. The column of a cell is a letter, its row a number, counted
// from the top. "X above Y": Y is in a lower row; "X left of Y": it is in the same row.
std::string shapes_line(RandomStream& random);
// Draws the image of such a line, with its caption and the places of the words that name a shape. The shapes are moved
// by up to a pixel, and colours and background vary, so that hardly two images are the same.
CaptionedImage shapes_image(RandomStream& random);

}  // namespace tapeformer
