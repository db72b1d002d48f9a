// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Everything that differs between Kokkos 4.5 and 5.x, or that Kokkos leaves to its
/// backends.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <solder/core/errors.hpp>
#include <solder/core/kept_arrays.hpp>

/// \brief Before a loop in a kernel: NO_UNROLLING keeps it from being unrolled, because its body
/// already has as many loads in flight as there are registers for; UNROLLED unrolls it whole, so
/// that the arrays that it indexes are registers.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define SOLDER_NO_UNROLLING _Pragma("unroll 1")
#define SOLDER_UNROLLED _Pragma("unroll")
#else
#define SOLDER_NO_UNROLLING
#define SOLDER_UNROLLED
#endif

namespace Solder::Impl {

/// \brief Before a function template for host and device whose argument may be a function for only
/// one of them.
#if defined(__CUDACC__)
#define SOLDER_FOR_HOST_OR_DEVICE _Pragma("nv_exec_check_disable")
#else
#define SOLDER_FOR_HOST_OR_DEVICE
#endif

/// \brief Before a function with a KOKKOS_LAMBDA: the host's compiler must not inline it.
///
/// Up to CUDA 13.0 nvcc calls the copy constructor of such a lambda through a pointer, and each
/// translation unit has its own pointer. It is set where the lambda is made. A lambda that is made
/// in one unit, by an inlined function, and copied by a template which the linker took from another
/// unit, calls a null pointer. A function that is not inlined is from one unit together with all
/// that it calls.
#if defined(__NVCC__)
#define SOLDER_MAKES_LAMBDAS __attribute__((noinline, noclone))
#else
#define SOLDER_MAKES_LAMBDAS
#endif

/// \brief Asks a host's memory for the cache line `bytes` behind `at`, whatever is there.
KOKKOS_FORCEINLINE_FUNCTION void prefetch([[maybe_unused]] void const* at,
                                          [[maybe_unused]] std::int64_t bytes) {
#if defined(__GNUC__)
  KOKKOS_IF_ON_HOST((__builtin_prefetch(reinterpret_cast<void const*>(
      reinterpret_cast<std::intptr_t>(at) + bytes));))
#endif
}

/// \brief Asks a GPU for the cache line that holds `at`, some time before it is loaded: a load
/// keeps a register busy until it arrives. Nothing on hosts, and on GPUs without CUDA.
KOKKOS_FORCEINLINE_FUNCTION void ask_for([[maybe_unused]] void const* at) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
#endif
}

/// \brief Defined if Kokkos has a GPU backend, whose execution space is Impl::Gpu.
#if defined(KOKKOS_ENABLE_CUDA)
#define SOLDER_HAS_GPU
using Gpu = Kokkos::Cuda;
#elif defined(KOKKOS_ENABLE_HIP)
#define SOLDER_HAS_GPU
using Gpu = Kokkos::HIP;
#endif

/// \brief The execution spaces of this Kokkos that Solder has runners for, a std::tuple of them.
using EnabledSpaces = decltype(std::tuple_cat(
#if defined(KOKKOS_ENABLE_SERIAL)
    std::declval<std::tuple<Kokkos::Serial>>(),
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
    std::declval<std::tuple<Kokkos::OpenMP>>(),
#endif
#if defined(KOKKOS_ENABLE_CUDA)
    std::declval<std::tuple<Kokkos::Cuda>>(),
#endif
#if defined(KOKKOS_ENABLE_HIP)
    std::declval<std::tuple<Kokkos::HIP>>(),
#endif
    std::declval<std::tuple<>>()));

/// \brief f(std::type_identity<Exec>()) for each of them, as a std::tuple.
template <class Function>
auto for_each_space(Function const& f) {
  return []<class... Exec>(std::type_identity<std::tuple<Exec...>>, auto const& each) {
    return std::tuple<decltype(each(std::type_identity<Exec>()))...>{
        each(std::type_identity<Exec>())...};  // in braces they are evaluated in their order
  }(std::type_identity<EnabledSpaces>(), f);
}

/// \brief True for spaces whose teams are CPU threads (Serial, OpenMP, Threads, HPX).
template <class Exec>
inline constexpr bool is_host_space =
    std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>;

/// \brief Memory that both the host and kernels of Exec read and write while a kernel runs.
template <class Exec>
using StatusSpace =
    std::conditional_t<is_host_space<Exec>, Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;

/// \brief Where it is not null, allocated() calls it before each allocation of memory of Space.
/// Tests use it to throw std::bad_alloc.
inline void (*before_allocation)(char const* label, std::size_t bytes) = nullptr;

/// \brief Lives while Kokkos makes a View for this thread. Tests ask for it, because Kokkos leaks
/// the View's memory where it has none for its own records.
struct MakingView {
  MakingView() { ++count; }
  ~MakingView() { --count; }
  MakingView(MakingView const&) = delete;
  MakingView& operator=(MakingView const&) = delete;

  static inline thread_local int count = 0;
};

/// \brief make(), which allocates a View in memory of Space. If that fails, throws OutOfMemory,
/// whatever this Kokkos throws: since 4.5 a runtime_error with these words.
template <class Space, class Make>
auto allocated(char const* label, std::size_t bytes, Make const& make) {
  try {
    if (before_allocation != nullptr) before_allocation(label, bytes);
    MakingView const making;
    return make();
  } catch (std::bad_alloc const&) {
  } catch (std::runtime_error const& error) {
    if (std::strstr(error.what(), "failed to allocate") == nullptr) throw;
  }
  throw OutOfMemory(Space::name(), label, bytes);
}

/// \brief An array that both the host and kernels of Exec read and write while a kernel runs, zero
/// at first. Where its memory is kept from an earlier one, no kernel may use that any more.
///
/// Kokkos's pinned memory of HIP is not coherent: what a kernel writes may stay unseen until it
/// ends. There it is allocated as coherent memory; elsewhere it is Kokkos's.
template <class T, class Exec>
class StatusArray {
 public:
  StatusArray() = default;
  StatusArray(char const* label, std::size_t size) {
    allocated<StatusSpace<Exec>>(label, size * sizeof(T), [&] { return allocate(label, size); });
  }

  T* data() const { return data_; }
  T& operator[](std::size_t k) const { return data_[k]; }

 private:
  void allocate([[maybe_unused]] char const* label, std::size_t size) {
#if defined(KOKKOS_ENABLE_HIP)
    if constexpr (std::is_same_v<Exec, Kokkos::HIP>) {
      void* memory = nullptr;
      if (hipHostMalloc(&memory, size * sizeof(T), hipHostMallocCoherent) != hipSuccess)
        throw std::bad_alloc();
      owner_ = std::shared_ptr<void>(memory, [](void* p) { (void)hipHostFree(p); });
      data_ = static_cast<T*>(memory);
      std::uninitialized_value_construct_n(data_, size);
      return;
    }
#endif
    using View = Kokkos::View<T*, StatusSpace<Exec>>;
    auto const make = [&] {
      return View(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing), size);
    };
    bool is_used = false;
    auto* const kept = KeptArrays::current();
    View const view = kept == nullptr ? make() : kept->template take<View>(size, is_used, make);
    owner_ = std::make_shared<View>(view);
    data_ = view.data();
    std::fill(data_, data_ + size, T{});  // a GPU would take 90 us for 64 kB of the host's memory
  }

  std::shared_ptr<void> owner_;
  T* data_ = nullptr;
};

/// \brief A rank-1 View of nothing, data() being null. (Copies of default-constructed Views crash
/// with g++ 12 and a snapshot of Kokkos 4.6.99.)
template <class View>
View no_view() {
  return View(typename View::pointer_type(nullptr), 0);
}

/// \brief Orders this thread's writes before its later ones for every observer, the host included.
KOKKOS_FORCEINLINE_FUNCTION void system_fence() {
  desul::atomic_thread_fence(desul::MemoryOrderSeqCst(), desul::MemoryScopeNode());
}

/// \brief Threads that run in step and exchange registers: the vector length of every GPU policy of
/// Solder.
inline constexpr int warp = 32;

/// \brief The calling thread's number in its warp; policies have the vector length `warp`, which
/// Kokkos's GPU backends lay along x. (A ThreadVectorRange gives it too, for two integer
/// divisions.)
KOKKOS_FORCEINLINE_FUNCTION int lane_number() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return static_cast<int>(threadIdx.x);
#else
  return 0;
#endif
}

/// \brief The value of the GPU lane whose number differs in the bits of `mask` (< 32). All lanes of
/// a warp call this together. Kokkos offers no exchange among parts of a vector, nor of several
/// values at once.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real lane_exchange(Real value, [[maybe_unused]] int mask) {
#if defined(__CUDA_ARCH__)
  return __shfl_xor_sync(0xffffffffu, value, mask);
#elif defined(__HIP_DEVICE_COMPILE__)
  return __shfl_xor(value, mask, warp);
#else
  return value;  // hosts have teams of one thread
#endif
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> lane_exchange(Kokkos::complex<Real> const& value,
                                                                int mask) {
  return {lane_exchange(value.real(), mask), lane_exchange(value.imag(), mask)};
}

/// \brief The value of GPU lane `from`. All lanes of a warp call this together.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real lane_value(Real value, [[maybe_unused]] int from) {
#if defined(__CUDA_ARCH__)
  return __shfl_sync(0xffffffffu, value, from);
#elif defined(__HIP_DEVICE_COMPILE__)
  return __shfl(value, from, warp);
#else
  return value;
#endif
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Kokkos::complex<Real> lane_value(Kokkos::complex<Real> const& value,
                                                             int from) {
  return {lane_value(value.real(), from), lane_value(value.imag(), from)};
}

/// \brief Bit l of the answer: whether lane l of the warp says yes. All lanes of a warp call this
/// together.
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t lane_votes(bool yes) {
#if defined(__CUDA_ARCH__)
  return __ballot_sync(0xffffffffu, yes);
#elif defined(__HIP_DEVICE_COMPILE__)
  return static_cast<std::uint32_t>(__ballot(yes) >> (__lane_id() & ~(warp - 1)));
#else
  return yes ? 1 : 0;
#endif
}

/// \brief a + b, where b may be a product: it is rounded first, not part of a fused multiply-add.
/// So kernels that add the same terms have the same bits.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar rounded_sum(Scalar const& a, Scalar const& b) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  if constexpr (std::is_same_v<Scalar, double>)
    return __dadd_rn(a, b);
  else if constexpr (std::is_same_v<Scalar, float>)
    return __fadd_rn(a, b);
  else
    return {rounded_sum(a.real(), b.real()), rounded_sum(a.imag(), b.imag())};
#else
  return a + b;
#endif
}

/// \brief How many bits are set. (Kokkos::popcount is a loop on some devices.)
KOKKOS_FORCEINLINE_FUNCTION std::int32_t bits_set(std::uint32_t bits) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return __popc(bits);
#else
  return Kokkos::popcount(bits);
#endif
}

/// \brief Kokkos::atomic_compare_exchange, relaxed. (With CUDA, Kokkos's hides whether the place is
/// in scratch, for which there is a faster instruction.)
KOKKOS_FORCEINLINE_FUNCTION std::int32_t compare_exchange(std::int32_t* place,
                                                          std::int32_t expected,
                                                          std::int32_t desired) {
#if defined(__CUDA_ARCH__)
  return atomicCAS(place, expected, desired);
#else
  return Kokkos::atomic_compare_exchange(place, expected, desired);
#endif
}

/// \brief Waits for the other lanes of the warp: what they wrote before, this lane reads
/// afterwards. All lanes of a warp call this together.
KOKKOS_FORCEINLINE_FUNCTION void lane_barrier() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
  __threadfence_block();
  __builtin_amdgcn_wave_barrier();
#endif
}

/// \brief Whether the teams of a kernel that have started all make progress, whatever the others
/// do: what a barrier among them needs.
template <class Exec>
inline constexpr bool has_progress = [] {
  bool promised = is_host_space<Exec>;
#if defined(KOKKOS_ENABLE_CUDA)
  promised = promised || std::is_same_v<Exec, Kokkos::Cuda>;
#endif
#if defined(KOKKOS_ENABLE_HIP)
  promised = promised || std::is_same_v<Exec, Kokkos::HIP>;
#endif
  return promised;
}();

/// \brief Multiprocessors of a GPU, or the cores of a host.
template <class Exec>
int multiprocessors([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>)
    return exec.cuda_device_prop().multiProcessorCount;
#endif
#if defined(KOKKOS_ENABLE_HIP)
  if constexpr (std::is_same_v<Exec, Kokkos::HIP>)
    return exec.hip_device_prop().multiProcessorCount;
#endif
  return exec.concurrency();
}

/// \brief The name of a GPU; empty for a host.
template <class Exec>
std::string gpu_name([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return exec.cuda_device_prop().name;
#endif
#if defined(KOKKOS_ENABLE_HIP)
  if constexpr (std::is_same_v<Exec, Kokkos::HIP>) return exec.hip_device_prop().name;
#endif
  return {};
}

/// \brief Whether this is a GPU like those that the crossovers of the runners were measured on: of
/// NVIDIA's Hopper generation.
template <class Exec>
bool is_measured([[maybe_unused]] Exec const& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) return exec.cuda_device_prop().major == 9;
#endif
  return false;
}

/// \brief Scratch that a team of a GPU may ask for: Kokkos before 5.2 gives 48 kB, of which it
/// takes some itself.
inline constexpr int most_scratch_bytes = 47 * 1024;

/// \brief Adds 1 and answers what was there before. Whoever reads the sum by load_acquire also
/// sees what this thread wrote before, and what it had seen.
/// (On hosts desul makes a loop of it that begins with an ordinary load.)
KOKKOS_FORCEINLINE_FUNCTION std::int32_t add_one_release(std::int32_t* place) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return desul::atomic_fetch_add(place, 1, desul::MemoryOrderRelease(), desul::MemoryScopeDevice());
#else
  return std::atomic_ref<std::int32_t>(*place).fetch_add(1, std::memory_order_release);
#endif
}

/// \brief See add_one_release.
KOKKOS_FORCEINLINE_FUNCTION std::int32_t load_acquire(std::int32_t const* place) {
#if defined(__CUDA_ARCH__)
  std::int32_t value;
  asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_load(place, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
#else
  return std::atomic_ref<std::int32_t>(*const_cast<std::int32_t*>(place))
      .load(std::memory_order_acquire);
#endif
}

/// \brief The types that devices load and store at once: load_relaxed has no instruction for
/// others.
template <class T>
concept WordOfMemory =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>;

/// \brief What lies there now, whoever wrote it: other threads write it by store_relaxed while this
/// one reads. One word, with no order among words.
template <WordOfMemory Word>
KOKKOS_FORCEINLINE_FUNCTION Word load_relaxed(Word const* place) {
#if defined(__CUDA_ARCH__)
  Word value;
  if constexpr (std::is_same_v<Word, double>)
    asm volatile("ld.relaxed.gpu.f64 %0, [%1];" : "=d"(value) : "l"(place) : "memory");
  else if constexpr (std::is_same_v<Word, float>)
    asm volatile("ld.relaxed.gpu.f32 %0, [%1];" : "=f"(value) : "l"(place) : "memory");
  else
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(place) : "memory");
  return value;
#elif defined(__HIP_DEVICE_COMPILE__)
  return __hip_atomic_load(place, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return std::atomic_ref<Word>(*const_cast<Word*>(place)).load(std::memory_order_relaxed);
#endif
}

/// \brief See load_relaxed.
template <WordOfMemory Word>
KOKKOS_FORCEINLINE_FUNCTION void store_relaxed(Word* place, Word value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<Word, double>)
    asm volatile("st.relaxed.gpu.f64 [%0], %1;" ::"l"(place), "d"(value) : "memory");
  else if constexpr (std::is_same_v<Word, float>)
    asm volatile("st.relaxed.gpu.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
  else
    asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
#elif defined(__HIP_DEVICE_COMPILE__)
  __hip_atomic_store(place, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  std::atomic_ref<Word>(*place).store(value, std::memory_order_relaxed);
#endif
}

/// \brief Writes what others read by load_acquire.
KOKKOS_FORCEINLINE_FUNCTION void store_release(std::int32_t* place, std::int32_t value) {
  desul::atomic_store(place, value, desul::MemoryOrderRelease(), desul::MemoryScopeDevice());
}

/// \brief Tells a core that this thread only waits.
inline void spin_pause() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  asm volatile("yield");
#endif
}

/// \brief Bytes of a functor that a launch can take along as arguments, where it is asked to.
inline constexpr std::size_t most_argument_bytes = 3840;

/// \brief The policy of a launch that takes its functor along as arguments, up to
/// most_argument_bytes of it. (Otherwise Kokkos keeps larger ones than 512 bytes elsewhere.)
template <class Policy>
auto with_arguments(Policy const& policy) {
  return Kokkos::Experimental::require(policy,
                                       Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// \brief What a GPU's backend offers to record the kernels of a stream, by the names of the
/// backend.
template <class Exec>
struct StreamCapture;

#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct StreamCapture<Kokkos::Cuda> {
  using Stream = cudaStream_t;
  using Graph = cudaGraph_t;
  using Executable = cudaGraphExec_t;

  static bool create(Kokkos::Cuda const& exec, Stream& stream) {
    return cudaSetDevice(exec.cuda_device()) == cudaSuccess &&
           cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  }
  static bool begin(Stream stream) {
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess;
  }
  static bool end(Stream stream, Graph& graph) {
    return cudaStreamEndCapture(stream, &graph) == cudaSuccess;
  }
  static bool instantiate(Executable& executable, Graph graph) {
    return cudaGraphInstantiateWithFlags(&executable, graph, 0) == cudaSuccess;
  }
  static bool launch(Executable executable, Kokkos::Cuda const& exec) {
    return cudaGraphLaunch(executable, exec.cuda_stream()) == cudaSuccess;
  }
  static void destroy(Stream stream) { (void)cudaStreamDestroy(stream); }
  static void destroy(Graph graph) { (void)cudaGraphDestroy(graph); }
  static void destroy(Executable executable) { (void)cudaGraphExecDestroy(executable); }
  static std::string last_error() { return cudaGetErrorString(cudaGetLastError()); }
};
#endif

#if defined(KOKKOS_ENABLE_HIP)
template <>
struct StreamCapture<Kokkos::HIP> {
  using Stream = hipStream_t;
  using Graph = hipGraph_t;
  using Executable = hipGraphExec_t;

  static bool create(Kokkos::HIP const& exec, Stream& stream) {
    return hipSetDevice(exec.hip_device()) == hipSuccess &&
           hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess;
  }
  static bool begin(Stream stream) {
    return hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed) == hipSuccess;
  }
  static bool end(Stream stream, Graph& graph) {
    return hipStreamEndCapture(stream, &graph) == hipSuccess;
  }
  static bool instantiate(Executable& executable, Graph graph) {
    return hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess;
  }
  static bool launch(Executable executable, Kokkos::HIP const& exec) {
    return hipGraphLaunch(executable, exec.hip_stream()) == hipSuccess;
  }
  static void destroy(Stream stream) { (void)hipStreamDestroy(stream); }
  static void destroy(Graph graph) { (void)hipGraphDestroy(graph); }
  static void destroy(Executable executable) { (void)hipGraphExecDestroy(executable); }
  static std::string last_error() { return hipGetErrorString(hipGetLastError()); }
};
#endif

/// \brief While one lives, Kokkos Tools hear nothing: a fence of theirs would break a recording.
class PausedTools {
 public:
  PausedTools() { Kokkos::Tools::Experimental::pause_tools(); }
  ~PausedTools() { Kokkos::Tools::Experimental::resume_tools(); }
  PausedTools(PausedTools const&) = delete;

 private:
  static inline std::mutex mutex_;  // Kokkos keeps one copy of what it has paused
  std::lock_guard<std::mutex> lock_{mutex_};
};

/// \brief A chain of kernels of a GPU that is recorded once and submitted many times.
///
/// It is recorded from a stream, by the launches that would run it. (A node of
/// Kokkos::Experimental::Graph is a kernel of a type of its own: each stage would be compiled
/// twice.) The stream is the chain's own: one that waits for others cannot be recorded.
template <class Exec>
class KernelChain {
  using Capture = StreamCapture<Exec>;
  using Graph = typename Capture::Graph;
  using Executable = typename Capture::Executable;

 public:
  explicit KernelChain(Exec const& exec) : exec_(exec), stream_(exec), recorder_(stream_.stream) {}
  KernelChain(KernelChain const&) = delete;
  ~KernelChain() { forget(); }

  bool is_recorded() const { return executable_ != Executable{}; }
  void forget() {
    if (!is_recorded()) return;
    exec_.fence("Solder::graph: no kernel of it is in flight");
    Capture::destroy(std::exchange(executable_, {}));
  }
  /// \brief Records what launch(exec) launches on that instance.
  template <class Launch>
  void record(Launch const& launch) {
    forget();
    PausedTools const paused;
    check(Capture::begin(stream_.stream));
    Graph graph{};
    try {
      launch(recorder_);
    } catch (...) {
      if (Capture::end(stream_.stream, graph)) Capture::destroy(graph);
      throw;
    }
    check(Capture::end(stream_.stream, graph));
    bool const made = Capture::instantiate(executable_, graph);
    Capture::destroy(graph);
    check(made);
  }
  void submit() const { check(Capture::launch(executable_, exec_)); }

 private:
  static void check(bool succeeded) {
    if (!succeeded)
      throw std::runtime_error("Solder: a graph of kernels could not be recorded or submitted: " +
                               Capture::last_error() + "; the runner launch needs none");
  }

  struct OwnStream {
    explicit OwnStream(Exec const& exec) { check(Capture::create(exec, stream)); }
    OwnStream(OwnStream const&) = delete;
    ~OwnStream() { Capture::destroy(stream); }
    typename Capture::Stream stream{};
  };
  Exec exec_;
  OwnStream stream_;
  Exec recorder_;  ///< an instance on that stream
  Executable executable_{};
};

}  // namespace Solder::Impl
