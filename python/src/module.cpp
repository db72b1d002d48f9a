// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module solder._solder: the library's solvers by name, for arrays of Python.
#include "module.hpp"


#include <set>
#include <solder/version.hpp>
#include <stdexcept>

namespace Solder::Python {
namespace {

std::mutex of_alive;
std::set<Alive*> alive;

}  // namespace

Alive::Alive() {
  std::lock_guard const lock(of_alive);
  alive.insert(this);
}
Alive::~Alive() {
  std::lock_guard const lock(of_alive);
  alive.erase(this);
}
bool Alive::free_all() {
  std::lock_guard const lock(of_alive);
  bool all = true;
  for (Alive* const each : alive) all = each->free() && all;
  return all;
}

Turns::Turn::Turn(Turns& turns, char const* who) : turns_(turns) {
  if (turns_.owner_ == std::this_thread::get_id())
    throw std::logic_error(std::string("solder: ") + who +
                           " is at work in this thread: a callback must not use it");
  turns_.mutex_.lock();
  turns_.owner_ = std::this_thread::get_id();
}
Turns::Turn::~Turn() {
  turns_.owner_ = std::thread::id();
  turns_.mutex_.unlock();
}

void Conversation::begin(nb::object const* callback) {
  callback_ = callback;
  error_.reset();
  looked_ = Clock::now();
}

void Conversation::hear(Progress const& progress) {
  // Python's lock is asked for where there is something to tell, and every so often for Ctrl-C.
  auto const now = Clock::now();
  if (callback_ == nullptr) {
    progress.pause_for(0.05);
    if (now - looked_ < std::chrono::milliseconds(50)) return;
    looked_ = now;
  }
  nb::gil_scoped_acquire const held;
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (callback_ == nullptr) return;
    nb::object const told = nb::cast(progress);
    (*callback_)(told);
    if (nb::cast<Progress const&>(told).stops) progress.stop();
  } catch (nb::python_error& error) {
    keep(std::move(error));
    progress.stop();
  }
}

void Conversation::end(std::optional<nb::python_error>& error) {
  callback_ = nullptr;
  if (error_) error.emplace(std::move(*error_));
  error_.reset();
}

}  // namespace Solder::Python

NB_MODULE(_solder, m) {
  using namespace Solder::Python;
  static bool has_begun = false;
  if (has_begun)
    throw std::logic_error("solder is loaded already, and once in a process: keep sys.modules as it is");
  has_begun = true;
  m.doc() = "Solder's solvers by name. What is here is also in the package `solder`.";
  m.attr("__version__") = std::string(Solder::version());
  nb::set_leak_warnings(false);  // objects that live until the end are freed by the system
  start();
  m.def("spaces", &spaces, "Where this build solves: OpenMP, Cuda, ...");
  m.def("threads", &threads, "Threads that a solve on the CPU takes.");
  add_report(m);
  add_solver(m);
  add_preconditioner(m);
  add_timing(m);
  // Before the interpreter ends. Where a thread still solves, Kokkos is left as it is.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    if (Alive::free_all()) end();
  }));
}
