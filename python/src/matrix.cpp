// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices and parameters of Python.
#include "arrays.hpp"

#include <string_view>

namespace Solder::Python {
namespace {

std::string type_text(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::type_name(object.type())));
}

/// \brief The dtype that values are converted to where the library has not theirs.
Scalar scalar_for(nb::handle values) {
  std::string const kind = nb::cast<std::string>(values.attr("dtype").attr("kind"));
  std::int64_t const size = nb::cast<std::int64_t>(values.attr("dtype").attr("itemsize"));
  if (kind == "b" || kind == "i" || kind == "u") return Scalar::float64;
  if (kind == "f" && size <= 8) return size <= 4 ? Scalar::float32 : Scalar::float64;
  if (kind == "c" && size <= 16) return size <= 8 ? Scalar::complex64 : Scalar::complex128;
  throw nb::type_error(
      ("A is of " + dtype_text(values) +
       ", and Solder takes float32, float64, complex64 and complex128: A.astype() converts it")
          .c_str());
}

Array take_values(nb::handle object, Scalar& scalar, Copies& copies) {
  auto array = array_of(object, "A.data");
  if (array && array->dimensions == 1) {
    if (auto const own = scalar_of(array->type)) {
      scalar = *own;
      Place const place = array->place;
      return take(std::move(array), object, "A.data", scalar, place, copies);
    }
    if (array->place.is_on_device)
      throw nb::type_error(("A is of " + dtype_text(object) +
                            ", and Solder takes float32, float64, complex64 and complex128")
                               .c_str());
  }
  if (array && array->dimensions != 1) throw nb::value_error("A.data needs one dimension");
  if (!nb::hasattr(object, "dtype")) throw nb::type_error("A.data is no array");
  scalar = scalar_for(object);
  nb::object const converted = object.attr("astype")(text_of(scalar));
  copies.push_back("A.data was copied: " + dtype_text(object) + " to " + text_of(scalar));
  array = array_of(converted, "A.data");
  if (!array) throw nb::type_error("A.data is no array that NumPy can hand over");
  return std::move(*array);
}

/// \brief Indices of 32 or 64 bits. \param is_long set to whether they have 64
Array take_indices(nb::handle object, std::string const& name, Place const& place, bool& is_long,
                   Copies& copies) {
  auto array = array_of(object, name);
  if (array && array->dimensions != 1)
    throw nb::value_error((name + " needs one dimension").c_str());
  auto const is_index = [&] {
    return array->type == nb::dtype<std::int32_t>() || array->type == nb::dtype<std::int64_t>();
  };
  auto const is_aligned = [&] {
    return reinterpret_cast<std::uintptr_t>(array->data) % (array->type.bits / 8) == 0;
  };
  if (!array || !is_index() || !array->has_plain_strides() || !is_aligned()) {
    if ((array && array->place.is_on_device) || !nb::hasattr(object, "dtype"))
      throw nb::type_error((name + " must be a contiguous array of int32 or int64").c_str());
    nb::module_ const numpy = nb::module_::import_("numpy");
    if (!nb::cast<bool>(numpy.attr("can_cast")(object.attr("dtype"), "int64", "safe")))
      throw nb::type_error(
          (name + " must be int32 or int64, not " + dtype_text(object)).c_str());
    copies.push_back(name + " was copied: it is not contiguous int32 or int64");
    array = array_of(numpy.attr("array")(object, nb::arg("dtype") = "int64"), name);
    if (!array) throw nb::type_error((name + " is no array that NumPy can hand over").c_str());
  }
  if (array->place.is_on_device != place.is_on_device)
    throw nb::type_error((name + " and A.data must both be on the host, or on the GPU").c_str());
  is_long = array->type == nb::dtype<std::int64_t>();
  return std::move(*array);
}

/// \brief The object in CSR format, by scipy.sparse if need be.
nb::object compressed(nb::object const& A, Copies& copies) {
  if (nb::hasattr(A, "crow_indices")) return A;  // PyTorch's
  bool const is_sparse = nb::hasattr(A, "tocsr") && nb::hasattr(A, "format");
  if (is_sparse) {
    std::string const format = nb::cast<std::string>(nb::str(nb::object(A.attr("format"))));
    if (format == "csr") return A;
    nb::object const csr = A.attr("tocsr")();
    copies.push_back("A was converted: " + format + " to csr");
    return csr;
  }
  if (nb::isinstance(A, nb::module_::import_("numpy").attr("ndarray"))) {
    copies.push_back("A was converted: a dense array to csr");
    return nb::module_::import_("scipy.sparse").attr("csr_array")(A);
  }
  throw nb::type_error(("A must be a sparse matrix of SciPy, CuPy or PyTorch, or a NumPy array, not " +
                        type_text(A) + ": an operator without a matrix has no entries to work on")
                           .c_str());
}

}  // namespace

Matrix matrix_of(nb::object const& given) {
  Matrix matrix{};
  nb::object const A = compressed(given, matrix.copies);
  nb::object const shape = A.attr("shape");
  if (nb::len(shape) != 2)
    throw nb::value_error(
        ("A needs two dimensions, not " + std::to_string(nb::len(shape))).c_str());
  bool const is_torch = nb::hasattr(A, "crow_indices");
  nb::object const values = is_torch ? A.attr("values")() : nb::object(A.attr("data"));
  matrix.values = take_values(values, matrix.scalar, matrix.copies);
  Arrays& arrays = matrix.arrays;
  Place const& place = matrix.values.place;
  matrix.indices =
      take_indices(is_torch ? A.attr("col_indices")() : nb::object(A.attr("indices")), "A.indices",
                   place, arrays.has_long_indices, matrix.copies);
  matrix.offsets =
      take_indices(is_torch ? A.attr("crow_indices")() : nb::object(A.attr("indptr")), "A.indptr",
                   place, arrays.has_long_offsets, matrix.copies);
  arrays.rows = nb::cast<std::int64_t>(shape[0]);
  arrays.columns = nb::cast<std::int64_t>(shape[1]);
  arrays.offsets_size = matrix.offsets.size();
  arrays.nonzeros = matrix.values.size();
  arrays.offsets = matrix.offsets.data;
  arrays.indices = matrix.indices.data;
  arrays.values = matrix.values.data;
  if (matrix.indices.size() != arrays.nonzeros)
    throw nb::value_error(("A has " + std::to_string(arrays.nonzeros) + " values, and " +
                           std::to_string(matrix.indices.size()) + " column indices")
                              .c_str());
  if (arrays.has_long_indices)
    matrix.copies.push_back("A.indices was copied: int64 to int32");
  if (arrays.has_long_offsets) matrix.copies.push_back("A.indptr was copied: int64 to int32");
  return matrix;
}

namespace {

/// \brief The word, which lives as long as the object; nothing where it has no UTF-8 form.
std::optional<std::string_view> word_of(nb::handle object) {
  Py_ssize_t size = 0;
  if (char const* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &size))
    return std::string_view(text, std::size_t(size));
  PyErr_Clear();
  return {};
}

/// \brief Whether it is of one of Python's own types that a parameter has.
bool is_plain(nb::handle value) {
  return value.is_none() || nb::isinstance<nb::str>(value) || nb::isinstance<nb::int_>(value) ||
         nb::isinstance<nb::float_>(value) || nb::isinstance<nb::dict>(value);
}
/// \brief A number of NumPy or of anybody as Python's own; other objects as they are.
nb::object plain(nb::handle given) {
  nb::object value = nb::borrow(given);
  if (is_plain(value)) return value;
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item") && nb::len_hint(value) == 0)
    value = value.attr("item")();
  if (is_plain(value)) return value;
  nb::module_ const numbers = nb::module_::import_("numbers");
  if (nb::isinstance(value, numbers.attr("Integral"))) return nb::int_(value);
  if (nb::isinstance(value, numbers.attr("Real"))) return nb::float_(value);
  return value;
}

}  // namespace

void add(Parameters& parameters, nb::dict const& of, std::string const& path, int depth) {
  constexpr int deepest = 16;  // a dict may hold itself
  if (depth > deepest)
    throw nb::value_error(("parameters are at most " + std::to_string(deepest) +
                           " dicts deep, and these begin with " + path.substr(0, 60))
                              .c_str());
  for (auto const& [key, given] : of) {
    if (!nb::isinstance<nb::str>(key))
      throw nb::type_error(("names of parameters are words, and one of " +
                            (path.empty() ? "these" : path) + " is of " + type_text(key))
                               .c_str());
    auto const name = word_of(key);
    if (!name) throw nb::value_error("the name of a parameter is no text");
    auto const where = [&] { return path + std::string(*name); };
    nb::object const value = plain(given);
    if (value.is_none()) continue;  // as if it were not given
    if (nb::isinstance<nb::bool_>(value)) {
      parameters.set(*name, nb::cast<bool>(value));
    } else if (nb::isinstance<nb::str>(value)) {
      auto const word = word_of(value);
      if (!word) throw nb::value_error((where() + " is no text").c_str());
      parameters.set(*name, *word);
    } else if (nb::isinstance<nb::dict>(value)) {
      Parameters tree;
      add(tree, nb::cast<nb::dict>(value), where() + ".", depth + 1);
      parameters.set(*name, tree);
    } else if (nb::isinstance<nb::int_>(value)) {
      std::int64_t whole = 0;
      if (!nb::try_cast(value, whole))
        throw nb::value_error((where() + " is too large").c_str());
      parameters.set(*name, whole);
    } else if (nb::isinstance<nb::float_>(value)) {
      parameters.set(*name, nb::cast<double>(value));
    } else {
      throw nb::type_error((where() + " must be a number, a word, True, False or a dict, not " +
                            type_text(value))
                               .c_str());
    }
  }
}

}  // namespace Solder::Python
