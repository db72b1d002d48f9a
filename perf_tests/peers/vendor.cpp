// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Solvers from cuSPARSE and cuBLAS calls. CG, BiCGStab, GMRES and IDR(s) with the scalars on the
// host, as most programs do; CG with all scalars on the device and one iteration captured in a CUDA
// graph, the best that one can build from these calls.

#include "vendor.hpp"

namespace Solder::Perf {
namespace {

using namespace Vendor;

/// \brief The scalars of the graph variant, in device memory
template <class Scalar>
struct Scalars {
  Scalar rz, rz_new, pq, alpha, minus_alpha, beta;
};

template <class Scalar>
__global__ void divide_for_alpha(Scalars<Scalar>* s) {
  s->alpha = s->rz / s->pq;
  s->minus_alpha = -s->alpha;
}

template <class Scalar>
__global__ void divide_for_beta(Scalars<Scalar>* s) {
  s->beta = s->rz_new / s->rz;
  s->rz = s->rz_new;
}

template <class Scalar>
__global__ void multiply(int n, Scalar const* a, Scalar const* b, Scalar* product) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) product[i] = a[i] * b[i];
}

/// \brief The system on the device, and what the solvers do with it. M is Jacobi's or none.
template <class Scalar>
class VendorSystem {
 public:
  VendorSystem(PeerProblem<Scalar> const& problem, bool jacobi)
      : n(problem.rows),
        jacobi(jacobi),
        matrix(problem, handles),
        b(copy_to_device<Scalar>(problem.right_side)),
        x(allocate<Scalar>(n)) {
    if (!jacobi) return;
    std::vector<Scalar> inverse(n);
    for (int i = 0; i < n; ++i)
      for (auto k = problem.row_offsets[i]; k < problem.row_offsets[i + 1]; ++k)
        if (problem.columns[k] == i) inverse[i] = 1 / problem.values[k];
    diagonal_ = copy_to_device<Scalar>(inverse);
  }

  DeviceArray<Scalar> vector() const { return allocate<Scalar>(n); }

  /// \brief M from: `to`, or `from` itself without preconditioner.
  Scalar* precondition(Scalar* from, Scalar* to) const {
    if (!jacobi) return from;
    multiply<<<(n + 255) / 256, 256, 0, handles.stream>>>(n, diagonal_.get(), from, to);
    check(cudaGetLastError());
    return to;
  }

  void copy(Scalar const* from, Scalar* to) const {
    check(cudaMemcpyAsync(to, from, n * sizeof(Scalar), cudaMemcpyDeviceToDevice, handles.stream));
  }
  Scalar dot(Scalar const* v, Scalar const* w) const {
    Scalar result;
    Vendor::dot(handles.blas, n, v, w, &result);
    return result;
  }
  void axpy(Scalar factor, Scalar const* v, Scalar* w) const {
    Vendor::axpy(handles.blas, n, &factor, v, w);
  }
  void scale(Scalar factor, Scalar* v) const { scal(handles.blas, n, &factor, v); }
  /// \brief w = factor A v + keep w
  void multiply_by_matrix(Scalar* v, Scalar* w, Scalar factor = 1, Scalar keep = 0) const {
    matrix.multiply(&factor, v, &keep, w);
  }

  void start(cublasPointerMode_t mode) const {
    handles.set_pointer_mode(mode);
    check(cudaMemsetAsync(x.get(), 0, n * sizeof(Scalar), handles.stream));
  }
  PeerRun<Scalar> finish(Clock::time_point begin, int iterations) const {
    double const seconds = seconds_between(begin, handles.synchronized_now());
    return {seconds, iterations, copy_to_host(x.get(), n)};
  }

  int n;
  bool jacobi;
  Handles handles;
  Matrix<Scalar> matrix;
  DeviceArray<Scalar> b, x;

 private:
  DeviceArray<Scalar> diagonal_;
};

template <class Scalar>
class VendorCg {
 public:
  explicit VendorCg(VendorSystem<Scalar> const& system)
      : system_(system),
        r_(system.vector()),
        z_(system.vector()),
        p_(system.vector()),
        q_(system.vector()),
        scalars_(allocate<Scalars<Scalar>>(1)),
        one_(copy_to_device<Scalar>(std::vector<int>{1})),
        zero_(copy_to_device<Scalar>(std::vector<int>{0})) {}

  PeerRun<Scalar> solve_with_host_scalars(int iterations) const {
    auto const& A = system_;
    Scalar *const x = A.x.get(), *const r = r_.get(), *const p = p_.get(), *const q = q_.get();
    Scalar const* const z = start(CUBLAS_POINTER_MODE_HOST);
    Scalar rz = A.dot(r, z);
    auto const begin = A.handles.synchronized_now();
    for (int i = 0; i < iterations; ++i) {
      A.multiply_by_matrix(p, q);
      Scalar const alpha = rz / A.dot(p, q);
      A.axpy(alpha, p, x);
      A.axpy(-alpha, q, r);
      A.precondition(r, z_.get());
      Scalar const rz_new = A.dot(r, z);
      A.scale(rz_new / rz, p);
      A.axpy(1, z, p);
      rz = rz_new;
    }
    return A.finish(begin, iterations);
  }

  PeerRun<Scalar> solve_with_graph(int iterations) const {
    auto const& A = system_;
    auto const stream = A.handles.stream;
    auto const blas = A.handles.blas;
    Scalar *const x = A.x.get(), *const r = r_.get(), *const p = p_.get(), *const q = q_.get();
    Scalar const* const z = start(CUBLAS_POINTER_MODE_DEVICE);
    auto* const s = scalars_.get();
    dot(blas, A.n, r, z, &s->rz);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    A.matrix.multiply(one_.get(), p, zero_.get(), q);
    dot(blas, A.n, p, q, &s->pq);
    divide_for_alpha<<<1, 1, 0, stream>>>(s);
    axpy(blas, A.n, &s->alpha, p, x);
    axpy(blas, A.n, &s->minus_alpha, q, r);
    A.precondition(r, z_.get());
    dot(blas, A.n, r, z, &s->rz_new);
    divide_for_beta<<<1, 1, 0, stream>>>(s);
    scal(blas, A.n, &s->beta, p);
    axpy(blas, A.n, one_.get(), z, p);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphUpload(executable, stream));
    auto const begin = A.handles.synchronized_now();
    for (int i = 0; i < iterations; ++i) check(cudaGraphLaunch(executable, stream));
    auto run = A.finish(begin, iterations);
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
    return run;
  }

 private:
  /// x = 0, r = b, z = M r, p = z: returns z
  Scalar const* start(cublasPointerMode_t mode) const {
    system_.start(mode);
    system_.copy(system_.b.get(), r_.get());
    Scalar const* const z = system_.precondition(r_.get(), z_.get());
    system_.copy(z, p_.get());
    return z;
  }

  VendorSystem<Scalar> const& system_;
  DeviceArray<Scalar> r_, z_, p_, q_;
  DeviceArray<Scalars<Scalar>> scalars_;
  DeviceArray<Scalar> one_, zero_;
};

/// \brief van der Vorst's, preconditioned from the right
template <class Scalar>
class VendorBicgstab {
 public:
  explicit VendorBicgstab(VendorSystem<Scalar> const& system)
      : system_(system),
        r_(system.vector()),
        r0_(system.vector()),
        p_(system.vector()),
        y_(system.vector()),
        v_(system.vector()),
        z_(system.vector()),
        t_(system.vector()) {}

  PeerRun<Scalar> solve(int iterations) const {
    auto const& A = system_;
    Scalar *const x = A.x.get(), *const r = r_.get(), *const r0 = r0_.get(), *const p = p_.get(),
                  *const v = v_.get(), *const t = t_.get();
    A.start(CUBLAS_POINTER_MODE_HOST);
    for (Scalar* const copy : {r, r0, p}) A.copy(A.b.get(), copy);
    Scalar rho = A.dot(r0, r);
    auto const begin = A.handles.synchronized_now();
    for (int i = 0; i < iterations; ++i) {
      Scalar* const y = A.precondition(p, y_.get());
      A.multiply_by_matrix(y, v);
      Scalar const alpha = rho / A.dot(r0, v);
      A.axpy(-alpha, v, r);  // now r is s
      Scalar* const z = A.precondition(r, z_.get());
      A.multiply_by_matrix(z, t);
      Scalar const ts = A.dot(t, r), omega = ts / A.dot(t, t);
      A.axpy(alpha, y, x);
      A.axpy(omega, z, x);
      A.axpy(-omega, t, r);
      Scalar const rho_new = A.dot(r0, r);
      A.axpy(-omega, v, p);
      A.scale(rho_new / rho * (alpha / omega), p);
      A.axpy(1, r, p);
      rho = rho_new;
    }
    return A.finish(begin, iterations);
  }

 private:
  VendorSystem<Scalar> const& system_;
  DeviceArray<Scalar> r_, r0_, p_, y_, v_, z_, t_;
};

/// \brief Classical Gram-Schmidt in one pass of two gemv, preconditioned from the right
///
/// The host waits for one norm a step; the projections stay on the device until the cycle's end.
template <class Scalar>
class VendorGmres {
 public:
  VendorGmres(VendorSystem<Scalar> const& system, int restart)
      : system_(system),
        restart_(restart),
        stride_((system.n + 31) / 32 * 32),
        basis_(allocate<Scalar>(std::size_t(stride_) * (restart + 1))),
        projections_(allocate<Scalar>(std::size_t(restart) * restart)),
        update_(allocate<Scalar>(restart)),
        z_(system.vector()) {}

  PeerRun<Scalar> solve(int iterations) const {
    auto const& A = system_;
    A.start(CUBLAS_POINTER_MODE_HOST);
    auto const begin = A.handles.synchronized_now();
    for (int done = 0; done < iterations; done += restart_)
      cycle(done == 0, std::min(restart_, iterations - done));
    return A.finish(begin, iterations);
  }

 private:
  Scalar* column(int k) const { return basis_.get() + std::size_t(k) * stride_; }

  Scalar normalise(Scalar* v) const {
    Scalar length;
    norm(system_.handles.blas, system_.n, v, &length);
    system_.scale(1 / length, v);
    return length;
  }

  void cycle(bool first, int steps) const {
    auto const& A = system_;
    auto const blas = A.handles.blas;
    Scalar const one = 1, zero = 0, minus_one = -1;
    A.copy(A.b.get(), column(0));
    if (!first) A.multiply_by_matrix(A.x.get(), column(0), -1, 1);
    Scalar const residual = normalise(column(0));
    std::vector<Scalar> lengths;
    for (int k = 0; k < steps; ++k) {
      Scalar* const w = column(k + 1);
      Scalar* const h = projections_.get() + k * restart_;
      A.multiply_by_matrix(A.precondition(column(k), z_.get()), w);
      gemv(blas, CUBLAS_OP_T, A.n, k + 1, &one, column(0), stride_, w, &zero, h);
      gemv(blas, CUBLAS_OP_N, A.n, k + 1, &minus_one, column(0), stride_, h, &one, w);
      lengths.push_back(normalise(w));
    }
    auto const y = smallest_residual(residual, lengths);
    check(cudaMemcpyAsync(update_.get(), y.data(), steps * sizeof(Scalar), cudaMemcpyHostToDevice,
                          A.handles.stream));
    // The last column is free: V y goes there.
    gemv(blas, CUBLAS_OP_N, A.n, steps, &one, column(0), stride_, update_.get(), &zero,
         column(steps));
    A.axpy(1, A.precondition(column(steps), z_.get()), A.x.get());
  }

  /// \brief The y that minimises ||residual e_1 - H y||, by Givens rotations.
  std::vector<Scalar> smallest_residual(Scalar residual, std::vector<Scalar> const& lengths) const {
    int const steps = static_cast<int>(lengths.size());
    system_.handles.synchronized_now();
    auto H = copy_to_host(projections_.get(), std::size_t(restart_) * restart_);
    std::vector<Scalar> y(steps + 1), cosine(steps), sine(steps);
    y[0] = residual;
    for (int k = 0; k < steps; ++k) {
      Scalar* const h = H.data() + k * restart_;
      for (int i = 0; i < k; ++i) {
        Scalar const above = h[i];
        h[i] = cosine[i] * above + sine[i] * h[i + 1];
        h[i + 1] = cosine[i] * h[i + 1] - sine[i] * above;
      }
      Scalar const length = std::hypot(h[k], lengths[k]);
      cosine[k] = h[k] / length;
      sine[k] = lengths[k] / length;
      h[k] = length;
      y[k + 1] = -sine[k] * y[k];
      y[k] *= cosine[k];
    }
    y.resize(steps);
    for (int i = steps - 1; i >= 0; --i) {
      for (int k = i + 1; k < steps; ++k) y[i] -= H[k * restart_ + i] * y[k];
      y[i] /= H[i * restart_ + i];
    }
    return y;
  }

  VendorSystem<Scalar> const& system_;
  int restart_, stride_;
  DeviceArray<Scalar> basis_, projections_, update_, z_;
};

/// \brief IDR(s) with biorthogonal residuals, preconditioned from the right: what paper 5 composes,
/// with all products with the shadow space in one gemv a step
///
/// The host solves the small systems, and waits for that gemv once a step, and for a norm.
template <class Scalar>
class VendorIdr {
 public:
  VendorIdr(VendorSystem<Scalar> const& system, PeerRequest const& request)
      : system_(system),
        s_(std::min(request.restart - 1, system.n)),
        stride_((system.n + 31) / 32 * 32),
        P_(shadow_space(request)),
        G_(allocate<Scalar>(std::size_t(stride_) * s_)),
        U_(allocate<Scalar>(std::size_t(stride_) * s_)),
        products_(allocate<Scalar>(s_)),
        coefficients_(allocate<Scalar>(s_)),
        r_(system.vector()),
        v_(system.vector()),
        z_(system.vector()),
        t_(system.vector()) {}

  PeerRun<Scalar> solve(int iterations) const {
    auto const& A = system_;
    A.start(CUBLAS_POINTER_MODE_HOST);
    A.copy(A.b.get(), r_.get());
    for (auto const* const basis : {&G_, &U_})
      check(cudaMemsetAsync(basis->get(), 0, std::size_t(stride_) * s_ * sizeof(Scalar),
                            A.handles.stream));
    std::vector<Scalar> M(s_ * s_);
    for (int k = 0; k < s_; ++k) M[k * s_ + k] = 1;
    Scalar omega = 1;
    auto const begin = A.handles.synchronized_now();
    for (int done = 0; done < iterations;) {
      auto f = products_with_P(r_.get());
      for (int k = 0; k < s_ && done < iterations; ++k, ++done) step(k, M, f, omega);
      if (done < iterations) {
        reduce_dimension(omega);
        ++done;
      }
    }
    return A.finish(begin, iterations);
  }

 private:
  DeviceArray<Scalar> shadow_space(PeerRequest const& request) const {
    std::vector<Scalar> columns(std::size_t(stride_) * s_);
    for (int j = 0; j < s_; ++j)
      for (int i = 0; i < system_.n; ++i)
        columns[std::size_t(j) * stride_ + i] = static_cast<Scalar>(request.shadow_entry(i, j));
    return copy_to_device<Scalar>(columns);
  }
  Scalar* column(DeviceArray<Scalar> const& basis, int k) const {
    return basis.get() + std::size_t(k) * stride_;
  }
  std::vector<Scalar> products_with_P(Scalar const* v) const {
    Scalar const one = 1, zero = 0;
    gemv(system_.handles.blas, CUBLAS_OP_T, system_.n, s_, &one, P_.get(), stride_, v, &zero,
         products_.get());
    system_.handles.synchronized_now();
    return copy_to_host(products_.get(), s_);
  }
  /// \brief to = keep to + factor (c_from basis_from + ... ), `count` columns
  void add(Scalar factor, DeviceArray<Scalar> const& basis, int from, int count, Scalar keep,
           Scalar* to) const {
    gemv(system_.handles.blas, CUBLAS_OP_N, system_.n, count, &factor, column(basis, from), stride_,
         coefficients_.get(), &keep, to);
  }
  void set_coefficients(Scalar const* c, int count) const {
    check(cudaMemcpyAsync(coefficients_.get(), c, count * sizeof(Scalar), cudaMemcpyHostToDevice,
                          system_.handles.stream));
  }
  void wait_for_norm() const {
    Scalar length;
    norm(system_.handles.blas, system_.n, r_.get(), &length);
  }

  void step(int k, std::vector<Scalar>& M, std::vector<Scalar>& f, Scalar omega) const {
    auto const& A = system_;
    Scalar *const g = column(G_, k), *const u = column(U_, k);
    std::vector<Scalar> c(f.begin() + k, f.end());
    for (int i = k; i < s_; ++i) {
      for (int j = k; j < i; ++j) c[i - k] -= M[i * s_ + j] * c[j - k];
      c[i - k] /= M[i * s_ + i];
    }
    set_coefficients(c.data(), s_ - k);
    A.copy(r_.get(), v_.get());
    add(-1, G_, k, s_ - k, 1, v_.get());
    add(1, U_, k, s_ - k, 0, t_.get());
    A.axpy(omega, A.precondition(v_.get(), z_.get()), t_.get());
    A.copy(t_.get(), u);
    A.multiply_by_matrix(u, g);
    std::vector<Scalar> m = products_with_P(g), alpha(k);
    for (int i = 0; i < k; ++i) {
      alpha[i] = m[i] / M[i * s_ + i];
      for (int j = i; j < s_; ++j) m[j] -= alpha[i] * M[j * s_ + i];
    }
    if (k > 0) {
      set_coefficients(alpha.data(), k);
      add(-1, G_, 0, k, 1, g);
      add(-1, U_, 0, k, 1, u);
    }
    for (int i = k; i < s_; ++i) M[i * s_ + k] = m[i];
    Scalar const beta = f[k] / m[k];
    A.axpy(-beta, g, r_.get());
    A.axpy(beta, u, A.x.get());
    for (int i = k + 1; i < s_; ++i) f[i] -= beta * m[i];
    wait_for_norm();
  }

  void reduce_dimension(Scalar& omega) const {
    auto const& A = system_;
    Scalar* const z = A.precondition(r_.get(), z_.get());
    A.multiply_by_matrix(z, t_.get());
    Scalar const tr = A.dot(t_.get(), r_.get()), tt = A.dot(t_.get(), t_.get()),
                 rr = A.dot(r_.get(), r_.get());
    Scalar const cosine = std::abs(tr) / std::sqrt(tt * rr), kappa = Scalar(0.7);
    omega = tr / tt * (cosine < kappa ? kappa / cosine : Scalar(1));
    A.axpy(omega, z, A.x.get());
    A.axpy(-omega, t_.get(), r_.get());
    wait_for_norm();
  }

  VendorSystem<Scalar> const& system_;
  int s_, stride_;
  DeviceArray<Scalar> P_, G_, U_, products_, coefficients_, r_, v_, z_, t_;
};

}  // namespace

template <class Scalar>
std::vector<PeerTiming> run_vendor(PeerProblem<Scalar> const& problem, PeerRequest const& request) {
  bool const known = request.preconditioner == "none" || request.preconditioner == "jacobi";
  if (!request.on_device || !known) return {};
  VendorSystem<Scalar> const system(problem, request.preconditioner == "jacobi");
  if (request.solver == "cg") {
    VendorCg<Scalar> const cg(system);
    return {time_variant("host scalars", problem, request,
                         [&](int iterations) { return cg.solve_with_host_scalars(iterations); }),
            time_variant("CUDA graph", problem, request,
                         [&](int iterations) { return cg.solve_with_graph(iterations); })};
  }
  if (request.solver == "bicgstab") {
    VendorBicgstab<Scalar> const bicgstab(system);
    return {time_variant("host scalars", problem, request,
                         [&](int iterations) { return bicgstab.solve(iterations); })};
  }
  if (request.solver == "gmres") {
    VendorGmres<Scalar> const gmres(system, request.restart);
    return {time_variant("host scalars", problem, request,
                         [&](int iterations) { return gmres.solve(iterations); })};
  }
  if (request.solver == "idr") {
    VendorIdr<Scalar> const idr(system, request);
    return {time_variant("host scalars", problem, request,
                         [&](int iterations) { return idr.solve(iterations); })};
  }
  return {};
}

template std::vector<PeerTiming> run_vendor(PeerProblem<float> const&, PeerRequest const&);
template std::vector<PeerTiming> run_vendor(PeerProblem<double> const&, PeerRequest const&);

}  // namespace Solder::Perf
