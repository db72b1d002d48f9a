// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Arrays and matrices of Python, without a copy wherever the library can read them as they
/// are.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "typed.hpp"

namespace Solder::Python {

namespace nb = nanobind;

/// \brief What was copied or converted, a sentence each: for the report.
using Copies = std::vector<std::string>;

/// \brief An array of one or two dimensions, of NumPy or of whoever has DLPack.
struct Array {
  nb::object object;         ///< keeps the memory
  nb::ndarray<nb::ro> held;  ///< likewise
  nb::object stream;         ///< keeps the stream that was current, on a GPU
  void* data = nullptr;
  nb::dlpack::dtype type{};
  Place place{};
  int dimensions = 0;
  std::int64_t shape[2] = {1, 1}, strides[2] = {1, 1};  ///< strides in entries

  std::int64_t size() const { return shape[0] * shape[1]; }
  /// \brief Whether it is a vector without gaps, or columns that do not overlap.
  bool has_plain_strides() const;
  template <class Pointer>
  VectorOf<Pointer> vector() const {
    if (dimensions == 1) return {data, shape[0]};
    return {data, shape[0], shape[1], shape[0] > 1 ? strides[0] : 1, shape[1] > 1 ? strides[1] : 1};
  }
};

/// \brief The array as it is; nothing where the object is none, or one that DLPack cannot describe.
/// \throws ValueError where it has more than two dimensions, or none
std::optional<Array> array_of(nb::handle object, std::string const& name);
/// \brief The same of one that may be written; nothing where it is read-only, too.
std::optional<Array> writable_array_of(nb::handle object, std::string const& name);

/// \brief "float64", or what else the object says of itself.
std::string dtype_text(nb::handle object);
char const* text_of(Scalar scalar);
std::size_t size_of(Scalar scalar);
/// \brief The scalar of a dtype of the library.
std::optional<Scalar> scalar_of(nb::dlpack::dtype type);

/// \brief A right-hand side, a guess or values: as it is, or converted where nothing is lost.
/// \throws TypeError, ValueError
Array take(nb::handle object, std::string const& name, Scalar scalar, Place const& place,
           Copies& copies);
/// \brief The same of what array_of(object) has given.
Array take(std::optional<Array> array, nb::handle object, std::string const& name, Scalar scalar,
           Place const& place, Copies& copies);
/// \brief An array that is written: as it is. \throws TypeError, ValueError
Array take_output(nb::handle object, std::string const& name, Scalar scalar, Place const& place);
/// \brief A new array like `like`: a copy of `from`, or zeros.
Array make_output(Array const& like, Scalar scalar, std::optional<Array> const& from);

/// \brief The stream that an array's library works on now: an object of CuPy or PyTorch; nothing of
/// other libraries.
nb::object stream_of(nb::handle object);
/// \brief The stream itself; null for nothing, which is the default stream.
void* address_of(nb::object const& stream);

/// \brief A matrix in CSR format.
struct Matrix {
  Arrays arrays;
  Array offsets, indices, values;  ///< keep the memory
  Scalar scalar;
  Copies copies;
};
/// \brief scipy.sparse, cupyx.scipy.sparse and PyTorch's CSR tensors as they are; other formats,
/// and dense arrays, by scipy.sparse. \throws TypeError, ValueError
Matrix matrix_of(nb::object const& A);

/// \brief The tree of a dictionary. \throws TypeError; ValueError where it is too deep
/// \param path of the dictionary in the tree \param depth dictionaries that it is in
void add(Parameters& parameters, nb::dict const& of, std::string const& path = "", int depth = 0);

}  // namespace Solder::Python
