// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrays.hpp"

#include <algorithm>
#include <complex>

namespace Solder::Python {
namespace {

nb::module_ numpy() { return nb::module_::import_("numpy"); }

std::string type_text(nb::handle object) {
  return nb::cast<std::string>(nb::str(nb::type_name(object.type())));
}

std::string shape_text(Array const& array) {
  std::string const first = std::to_string(array.shape[0]);
  return array.dimensions == 1 ? "(" + first + ",)"
                               : "(" + first + ", " + std::to_string(array.shape[1]) + ")";
}

/// \brief The package that an object comes from: "numpy", "cupy", "torch".
std::string package_of(nb::handle object) {
  std::string const module = nb::cast<std::string>(nb::str(object.type().attr("__module__")));
  return module.substr(0, module.find('.'));
}

bool is_aligned(Array const& array, Scalar scalar) {
  return reinterpret_cast<std::uintptr_t>(array.data) % size_of(scalar) == 0;
}

}  // namespace

char const* text_of(Scalar scalar) {
  constexpr char const* texts[] = {"float32", "float64", "complex64", "complex128"};
  return texts[int(scalar)];
}
std::size_t size_of(Scalar scalar) {
  constexpr std::size_t sizes[] = {4, 8, 8, 16};
  return sizes[int(scalar)];
}
std::optional<Scalar> scalar_of(nb::dlpack::dtype type) {
  if (type == nb::dtype<double>()) return Scalar::float64;
  if (type == nb::dtype<float>()) return Scalar::float32;
  if (type == nb::dtype<std::complex<double>>()) return Scalar::complex128;
  if (type == nb::dtype<std::complex<float>>()) return Scalar::complex64;
  return {};
}

std::string dtype_text(nb::handle object) {
  if (nb::hasattr(object, "dtype"))
    return nb::cast<std::string>(nb::str(nb::object(object.attr("dtype"))));
  return type_text(object);
}

bool Array::has_plain_strides() const {
  if (size() == 0) return true;
  std::int64_t const rows = shape[0], columns = shape[1], row = strides[0], column = strides[1];
  if (dimensions == 1) return rows <= 1 || row == 1;
  if (rows > 1 && row <= 0) return false;
  if (columns > 1 && column <= 0) return false;
  if (rows <= 1 || columns <= 1) return true;
  return row >= columns * column || column >= rows * row;
}

namespace {

std::optional<Array> described(nb::handle object, std::string const& name,
                               nb::ndarray<nb::ro> const& held) {
  Array array;
  array.held = held;
  if (held.ndim() < 1 || held.ndim() > 2)
    throw nb::value_error(
        (name + " needs one dimension or two, not " + std::to_string(held.ndim())).c_str());
  array.object = nb::borrow(object);
  array.data = const_cast<void*>(held.data());
  array.type = held.dtype();
  array.dimensions = int(held.ndim());
  for (int k = 0; k < array.dimensions; ++k) {
    array.shape[k] = std::int64_t(held.shape(k));
    array.strides[k] = held.stride(k);
  }
  int const device = held.device_type();
  if (device == nb::device::cuda::value || device == nb::device::rocm::value ||
      device == nb::device::cuda_managed::value) {
    if (held.device_id() != 0)
      throw nb::value_error((name + " is on GPU " + std::to_string(held.device_id()) +
                             ", and Solder works on number 0 of those that are visible")
                                .c_str());
    array.stream = stream_of(object);
    array.place = {true, address_of(array.stream)};
  } else if (device != nb::device::cpu::value && device != nb::device::cuda_host::value &&
             device != nb::device::rocm_host::value) {
    throw nb::value_error((name + " is on a device that Solder does not know").c_str());
  }
  return array;
}

}  // namespace

std::optional<Array> array_of(nb::handle object, std::string const& name) {
  nb::ndarray<nb::ro> held;
  if (nb::try_cast(object, held, false)) return described(object, name, held);
  PyErr_Clear();
  return {};
}
std::optional<Array> writable_array_of(nb::handle object, std::string const& name) {
  nb::ndarray<> held;
  if (nb::try_cast(object, held, false))
    return described(object, name, nb::ndarray<nb::ro>(held.handle()));
  PyErr_Clear();
  return {};
}

nb::object stream_of(nb::handle object) {
  std::string const package = package_of(object);
  if (package == "cupy")
    return nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")();
  if (package == "torch")
    return nb::module_::import_("torch").attr("cuda").attr("current_stream")();
  return {};
}

void* address_of(nb::object const& stream) {
  if (!stream.is_valid()) return nullptr;
  char const* const name = nb::hasattr(stream, "ptr") ? "ptr" : "cuda_stream";
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(stream.attr(name)));
}

Array take(nb::handle object, std::string const& name, Scalar scalar, Place const& place,
           Copies& copies) {
  return take(array_of(object, name), object, name, scalar, place, copies);
}
Array take(std::optional<Array> array, nb::handle object, std::string const& name, Scalar scalar,
           Place const& place, Copies& copies) {
  bool const is_same = array && scalar_of(array->type) == scalar;
  if (is_same && array->place.is_on_device == place.is_on_device && array->has_plain_strides() &&
      is_aligned(*array, scalar))
    return std::move(*array);
  if (place.is_on_device || (array && array->place.is_on_device)) {
    auto const where = [](bool is_on_device) { return is_on_device ? "the GPU" : "the host"; };
    if (!array || array->place.is_on_device != place.is_on_device)
      throw nb::type_error((name + " must be on " + where(place.is_on_device) +
                            ", as the matrix is, and not on " + where(!place.is_on_device))
                               .c_str());
    if (!is_same)
      throw nb::type_error(
          (name + " is " + dtype_text(object) + ", and the matrix " + text_of(scalar)).c_str());
    throw nb::value_error((name + " must be contiguous").c_str());
  }
  nb::object host;
  try {
    host = numpy().attr("asarray")(object);
  } catch (nb::python_error const& error) {
    throw nb::type_error((name + " is no array: " + error.what()).c_str());
  }
  std::string const kind = nb::cast<std::string>(host.attr("dtype").attr("kind"));
  if (std::string("biufc").find(kind) == std::string::npos)
    throw nb::type_error((name + " must have numbers, not " +
                          (nb::hasattr(object, "dtype") ? dtype_text(host) : type_text(object)))
                             .c_str());
  if (!nb::cast<bool>(numpy().attr("can_cast")(host.attr("dtype"), text_of(scalar), "safe")))
    throw nb::type_error((name + " is " + dtype_text(host) + ", and the matrix " +
                          text_of(scalar) + ": say " + name + ".astype(\"" + text_of(scalar) +
                          "\"), or solve with a matrix of the wider type")
                             .c_str());
  std::int64_t const dimensions = nb::cast<std::int64_t>(host.attr("ndim"));
  if (dimensions < 1 || dimensions > 2)
    throw nb::value_error(
        (name + " needs one dimension or two, not " + std::to_string(dimensions)).c_str());
  nb::object const copy =
      numpy().attr("array")(host, nb::arg("dtype") = text_of(scalar), nb::arg("order") = "C");
  copies.push_back(name + " was copied: " +
                   (is_same ? std::string("its entries are not contiguous")
                            : dtype_text(host) + " to " + text_of(scalar)));
  array = array_of(copy, name);
  if (!array) throw nb::type_error((name + " is no array that NumPy can hand over").c_str());
  return std::move(*array);
}

Array take_output(nb::handle object, std::string const& name, Scalar scalar, Place const& place) {
  std::optional<Array> array = writable_array_of(object, name);
  bool const is_writable = array.has_value();
  if (!is_writable) array = array_of(object, name);
  if (!array)
    throw nb::type_error((name + " must be an array of " + text_of(scalar) + ", not " +
                          type_text(object))
                             .c_str());
  if (scalar_of(array->type) != scalar)
    throw nb::type_error((name + " must be " + std::string(text_of(scalar)) + ", not " +
                          dtype_text(object))
                             .c_str());
  if (array->place.is_on_device != place.is_on_device)
    throw nb::type_error((name + " must be where the matrix is").c_str());
  if (!is_writable) throw nb::value_error((name + " is read-only").c_str());
  if (!array->has_plain_strides() || !is_aligned(*array, scalar))
    throw nb::value_error((name + " must be contiguous").c_str());
  return std::move(*array);
}

Array make_output(Array const& like, Scalar scalar, std::optional<Array> const& from) {
  if (from && (from->dimensions != like.dimensions || from->shape[0] != like.shape[0] ||
               from->shape[1] != like.shape[1]))
    throw nb::value_error(("x0 has the shape " + shape_text(*from) + ", and b " + shape_text(like))
                              .c_str());
  nb::object made;
  if (like.place.is_on_device) {
    std::string const package = package_of(like.object);
    nb::object const of = from ? from->object : like.object;
    if (package == "torch")
      made = from ? of.attr("clone")() : nb::module_::import_("torch").attr("zeros_like")(of);
    else if (package == "cupy")
      made = from ? of.attr("copy")() : nb::module_::import_("cupy").attr("zeros_like")(of);
    else
      throw nb::type_error(("out is needed: Solder does not know how " + package +
                            " makes an array")
                               .c_str());
  } else if (from) {
    made = numpy().attr("array")(from->object, nb::arg("order") = "C");
  } else {
    nb::object const shape = like.dimensions == 1
                                 ? nb::object(nb::int_(like.shape[0]))
                                 : nb::object(nb::make_tuple(like.shape[0], like.shape[1]));
    bool const by_columns = like.dimensions == 2 && like.strides[0] == 1 && like.shape[1] > 1;
    made = numpy().attr("zeros")(shape, text_of(scalar), by_columns ? "F" : "C");
  }
  return take_output(made, "x", scalar, like.place);
}

}  // namespace Solder::Python
