// Every op that the tape knows, by the names of PyTorch. Each is a struct with its forward and backward side by side in
// one file of this folder; the function that the headers declare records it. Inputs may be any strided views. Shapes
// that do not fit throw Error, which names the function and the shapes.
#pragma once

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/losses/losses.h"
#include "autograd/ops/recurrent.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
