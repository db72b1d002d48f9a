// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief What the tests of Solder::trilinos, and perf_tests/trilinos, share: systems of Tpetra
/// over all ranks, their residuals as Tpetra sees them, and the counting of checks.

#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <solder/matrix/host_csr.hpp>
#include <string>
#include <vector>

namespace SolderTest {

using Matrix = Tpetra::CrsMatrix<double>;
using Vectors = Tpetra::MultiVector<double>;
using Operator = Tpetra::Operator<double>;
using Map = Matrix::map_type;
using Exec = Matrix::node_type::execution_space;
using Comm = Teuchos::RCP<Teuchos::Comm<int> const>;
using Teuchos::RCP;
using Teuchos::rcp;

inline int failures = 0, checks = 0;
inline bool is_first = false;

inline void expect(bool holds, std::string const& what) {
  ++checks;
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what.c_str());
  std::fflush(stdout);
}

/// Says how many checks failed on all ranks; the exit code.
inline int result(Comm const& comm) {
  int all = 0;
  Teuchos::reduceAll(*comm, Teuchos::REDUCE_SUM, failures, Teuchos::outArg(all));
  if (is_first)
    std::printf("%d ranks: %d checks a rank, %d failed on all\n", comm->getSize(), checks, all);
  return all == 0 ? 0 : 1;
}

/// What f() throws on this rank; empty if nothing.
template <class F>
std::string thrown(F const& f) {
  try {
    f();
  } catch (std::exception const& error) {
    return *error.what() == '\0' ? "?" : error.what();
  }
  return {};
}
template <class F>
bool throws(F const& f) {
  return !thrown(f).empty();
}

/// The rows of a generated matrix that a map gives this rank.
inline RCP<Matrix> rows_of(Solder::HostCsr<double> const& host, RCP<Map const> const& map) {
  auto const A = rcp(new Matrix(map, 30));
  std::vector<Map::global_ordinal_type> columns;
  for (std::size_t l = 0; l < map->getLocalNumElements(); ++l) {
    auto const i = map->getGlobalElement(int(l));
    auto const begin = host.row_offsets[i], end = host.row_offsets[i + 1];
    columns.assign(host.columns.begin() + begin, host.columns.begin() + end);
    A->insertGlobalValues(i, int(end - begin), host.values.data() + begin, columns.data());
  }
  A->fillComplete();
  return A;
}

/// Its rows in equal slices; of three ranks and more the second has none.
inline RCP<Matrix> distributed(Solder::HostCsr<double> const& host, Comm const& comm) {
  int const ranks = comm->getSize(), me = comm->getRank();
  int const with_rows = ranks > 2 ? ranks - 1 : ranks, place = ranks > 2 && me > 1 ? me - 1 : me;
  bool const has_none = ranks > 2 && me == 1;
  auto const first = host.rows * std::int64_t(place) / with_rows,
             last = host.rows * std::int64_t(place + 1) / with_rows;
  std::size_t const mine = has_none ? 0 : std::size_t(last - first);
  return rows_of(host, rcp(new Map(Tpetra::global_size_t(host.rows), mine, 0, comm)));
}

inline double true_residual(Matrix const& A, Vectors const& b, Vectors const& x) {
  Vectors r(b, Teuchos::Copy);
  A.apply(x, r, Teuchos::NO_TRANS, -1, 1);
  Teuchos::Array<double> of_r(b.getNumVectors()), of_b(b.getNumVectors());
  r.norm2(of_r);
  b.norm2(of_b);
  double worst = 0;
  for (int c = 0; c < int(of_r.size()); ++c) worst = std::max(worst, of_r[c] / of_b[c]);
  return worst;
}

/// b, the same whatever the ranks.
inline void fill(Vectors& b) {
  auto const view = b.getLocalViewHost(Tpetra::Access::OverwriteAll);
  for (std::size_t l = 0; l < b.getLocalLength(); ++l)
    for (std::size_t c = 0; c < b.getNumVectors(); ++c)
      view(l, c) = 1 + double((b.getMap()->getGlobalElement(int(l)) * 7 + int(c)) % 13) / 13;
}

struct System {
  RCP<Matrix> A;
  Vectors b, x;

  System(Solder::HostCsr<double> const& host, Comm const& comm, int columns = 1)
      : A(distributed(host, comm)), b(A->getRowMap(), columns), x(A->getRowMap(), columns) {
    fill(b);
  }
};

}  // namespace SolderTest
