// All ops of the tape, with PyTorch's names. Each op is a struct in a .cpp file of this folder, with its forward and
// backward side by side; the function declared in the headers records it. Inputs may be any strided views. If shapes do
// not fit, the function throws Error, which names the function and the shapes.
#pragma once

#include "autograd/ops/activations.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/convolution.h"
#include "autograd/ops/helpers/products.h"
#include "autograd/ops/layers.h"
#include "autograd/ops/losses/losses.h"
#include "autograd/ops/recurrent.h"
#include "autograd/ops/reductions.h"
#include "autograd/ops/views.h"
