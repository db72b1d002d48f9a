// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// \brief Ranks of MPI: a matrix whose rows are dealt to the processes of a communicator. Link
/// Solder::mpi. What Solder knows of MPI is here, for the driver and Trilinos too.
///
///     // rows: a HostCsr of this rank's rows
///     auto const A = Solder::from_mpi(exec, MPI_COMM_WORLD, rows);
///     Solder::Cg cg(exec, A, Solder::Jacobi(exec, A.own_block(exec)));

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <solder/core/ranks.hpp>
#include <solder/matrix/csr.hpp>
#include <solder/matrix/distributed.hpp>
#include <solder/matrix/host_csr.hpp>

namespace Solder {

/// \brief What ranks have sent to each other, as one of them counts it.
/// \ingroup ranks
struct Traffic {
  std::int64_t sums = 0;       ///< all-reduces
  std::int64_t exchanges = 0;  ///< of ghosts
  double waited = 0;           ///< seconds in all-reduces, and for ghosts under way

  /// \brief What came after an earlier count.
  Traffic since(Traffic const& earlier) const {
    return {sums - earlier.sums, exchanges - earlier.exchanges, waited - earlier.waited};
  }
};

/// \brief The ranks of a communicator.
/// \tparam Base Ranks, or what is derived from it
/// \ingroup ranks
template <class Base>
class OverMpi : public Base {
 public:
  /// \brief For what ranks agree on, without rows. \param comm outlives this
  explicit OverMpi(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &number_);
    MPI_Comm_size(comm, &count_);
  }
  /// \brief All ranks call this together. \param comm outlives this \param rows of this rank
  OverMpi(MPI_Comm comm, std::int64_t rows) : OverMpi(comm) {
    rows_ = rows;
    std::int64_t end = 0;
    MPI_Scan(&rows, &end, 1, MPI_INT64_T, MPI_SUM, comm_);
    first_row_ = end - rows;
    MPI_Allreduce(MPI_IN_PLACE, &rows_, 1, MPI_INT64_T, MPI_SUM, comm_);
  }
  /// \brief The sums over all ranks, in place: one all-reduce.
  void sum(double* values, std::int32_t count) const override {
    double const began = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, comm_);
    traffic_.waited += MPI_Wtime() - began;
    ++traffic_.sums;
  }
  /// \brief Rows of all ranks.
  std::int64_t rows() const override { return rows_; }
  /// \brief The rows of the ranks before this one.
  std::int64_t first_row() const override { return first_row_; }
  /// \brief How many ranks there are.
  std::int32_t count() const override { return count_; }
  /// \brief The number of this one.
  std::int32_t number() const override { return number_; }
  /// \brief The traffic so far, without that of the set-up.
  Traffic const& traffic() const { return traffic_; }

 protected:
  /// \brief Counts anew.
  void forget_traffic() { traffic_ = {}; }

  MPI_Comm comm_;            ///< of all ranks
  mutable Traffic traffic_;  ///< so far

 private:
  std::int64_t rows_ = 0, first_row_ = 0;
  int number_ = 0, count_ = 1;
};

/// \brief The ranks of a communicator, for what they agree on.
/// \ingroup ranks
using MpiRanks = OverMpi<Ranks>;

/// \brief A row of another rank.
/// \ingroup ranks
struct RemoteRow {
  int rank = 0;          ///< that has it
  std::int32_t row = 0;  ///< its number there
};

/// \brief The ranks of a communicator, and the exchange of a matrix's ghosts between them.
///
/// A rank sends a message to each rank that has some of its rows as ghosts, and receives one from
/// each rank that has the rows of its ghosts. Messages are prepared once and started anew for each
/// exchange. Only the thread that solves calls MPI (MPI_THREAD_FUNNELED).
/// \ingroup ranks
template <class Scalar>
class MpiHalo final : public OverMpi<Halo<Scalar>> {
  using Base = OverMpi<Halo<Scalar>>;

 public:
  /// \brief All ranks call this together. \param comm outlives this \param rows of this rank
  /// \param ghosts of this rank: where they come from, in their order \throws on all ranks where
  /// memory does not suffice on one, std::length_error where a message would have 2 GB
  MpiHalo(MPI_Comm comm, std::int32_t rows, std::vector<RemoteRow> const& ghosts)
      : Base(comm, rows) {
    int const ranks = Base::count();
    std::vector<int> wanted, asked, from, to;
    Impl::together(this, [&] {
      wanted.assign(std::size_t(ranks), 0);
      asked.resize(wanted.size());
      for (RemoteRow const& ghost : ghosts) ++wanted[ghost.rank];
    });
    MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, comm);
    std::vector<std::int32_t> rows_of_others;
    std::vector<MPI_Request> requests;
    Impl::together(this, [&] {  // nothing allocates after this
      from = begins_of(wanted);
      to = begins_of(asked);
      received_.resize(ghosts.size());  // by rank; for one rank as in `ghosts`
      rows_of_others.resize(ghosts.size());
      for (std::size_t g = ghosts.size(); g-- > 0;) {
        int const place = from[ghosts[g].rank] + --wanted[ghosts[g].rank];
        received_[place] = static_cast<std::int32_t>(g);
        rows_of_others[place] = ghosts[g].row;
      }
      sent_.resize(std::size_t(to.back()));
      to_send_.resize(sent_.size());
      to_receive_.resize(received_.size());
      std::size_t const most = 2 * std::size_t(ranks);
      for (auto* const list : {&requests, &there_, &back_}) list->reserve(most);
    });
    for (int rank = 0; rank < ranks; ++rank) {
      add<MPI_Irecv>(sent_, to, rank, requests);
      add<MPI_Isend>(rows_of_others, from, rank, requests);
      add<MPI_Recv_init>(to_receive_, from, rank, there_);
      add<MPI_Send_init>(to_send_, to, rank, there_);
      add<MPI_Recv_init>(to_send_, to, rank, back_);  // the other way
      add<MPI_Send_init>(to_receive_, from, rank, back_);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    Base::forget_traffic();
  }
  MpiHalo(MpiHalo const&) = delete;
  MpiHalo& operator=(MpiHalo const&) = delete;
  ~MpiHalo() override {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over != 0) return;
    if (is_under_way_) wait(there_);
    for (std::vector<MPI_Request>* const requests : {&there_, &back_})
      for (MPI_Request& request : *requests) MPI_Request_free(&request);
  }

  void begin(Scalar const* x, Scalar* ghosts) const override {
    if (is_under_way_) wait(there_);
    for (std::size_t k = 0; k < sent_.size(); ++k) to_send_[k] = x[sent_[k]];
    start(there_);
    ghosts_ = ghosts;
    is_under_way_ = true;
    ++traffic_.exchanges;
  }
  void finish() const override {
    if (!std::exchange(is_under_way_, false)) return;
    wait(there_);
    for (std::size_t k = 0; k < received_.size(); ++k) ghosts_[received_[k]] = to_receive_[k];
  }
  void add_back(Scalar const* ghosts, Scalar* x) const override {
    for (std::size_t k = 0; k < received_.size(); ++k) to_receive_[k] = ghosts[received_[k]];
    start(back_);
    wait(back_);
    for (std::size_t k = 0; k < sent_.size(); ++k) x[sent_[k]] += to_send_[k];
    ++traffic_.exchanges;
  }

 private:
  using Base::comm_;
  using Base::traffic_;
  static constexpr int tag = 4711;

  static std::vector<int> begins_of(std::vector<int> const& counts) {
    std::vector<int> begins{0};
    for (int const count : counts) {
      if (count > std::numeric_limits<int>::max() / int(sizeof(Scalar)))
        throw std::length_error("Solder::MpiHalo: two ranks share more than 2 GB of ghosts");
      begins.push_back(begins.back() + count);
    }
    return begins;
  }
  /// Adds the request of a message to or from a rank; none if the message is empty.
  template <auto Message, class Value>
  void add(std::vector<Value>& values, std::vector<int> const& begins, int rank,
           std::vector<MPI_Request>& requests) {
    int const count = begins[rank + 1] - begins[rank];
    if (count == 0) return;
    requests.push_back(MPI_REQUEST_NULL);
    Message(values.data() + begins[rank], count * static_cast<int>(sizeof(Value)), MPI_BYTE, rank,
            tag, comm_, &requests.back());
  }
  void start(std::vector<MPI_Request>& requests) const {
    if (!requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
  }
  void wait(std::vector<MPI_Request>& requests) const {
    double const began = MPI_Wtime();
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    traffic_.waited += MPI_Wtime() - began;
  }

  std::vector<std::int32_t> sent_, received_;  ///< own rows, and ghosts, in messages' order
  mutable std::vector<Scalar> to_send_, to_receive_;
  mutable std::vector<MPI_Request> there_, back_;  ///< to fill ghosts, and to add them
  mutable Scalar* ghosts_ = nullptr;               ///< null where there are none
  mutable bool is_under_way_ = false;              ///< an exchange that has begun
};

namespace Impl {

/// \brief Renumbers columns as DistributedMatrix has them: own rows first, then the ghosts in
/// ascending order. \return where the ghosts come from
/// \param rows of rank `me`, their columns among the rows of all ranks
/// \param starts [ranks + 1]: the first row of each rank, and how many all have
template <class Scalar>
std::vector<RemoteRow> number_locally(HostCsr<Scalar>& rows, int me,
                                      std::vector<std::int64_t> const& starts) {
  std::int64_t const first = starts[me], last = starts[me + 1];
  std::vector<std::int32_t> ghosts;
  for (std::int32_t const j : rows.columns)
    if (j < first || j >= last) ghosts.push_back(j);
  std::sort(ghosts.begin(), ghosts.end());
  ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
  for (std::int32_t& j : rows.columns) {
    bool const is_own = j >= first && j < last;
    auto const place =
        is_own ? j - first
               : std::lower_bound(ghosts.begin(), ghosts.end(), j) - ghosts.begin() + rows.rows;
    j = static_cast<std::int32_t>(place);
  }
  rows.columns_count = rows.rows + static_cast<std::int32_t>(ghosts.size());
  std::vector<RemoteRow> of;
  for (std::int32_t const j : ghosts) {
    auto const next = std::upper_bound(starts.begin(), starts.end(), j);
    int const rank = static_cast<int>(next - starts.begin()) - 1;
    of.push_back({rank, static_cast<std::int32_t>(j - starts[rank])});
  }
  return of;
}

}  // namespace Impl

/// \brief A matrix of all ranks of a communicator, which call this together: each gives its rows,
/// which follow those of the rank before. Its halo is an MpiHalo.
///
/// \param comm outlives the matrix
/// \param rows of this rank, perhaps none; columns are among the rows of all ranks
/// \throws std::invalid_argument on all ranks where a column is out of range on one
/// \ingroup ranks
template <class Scalar, class Exec>
DistributedMatrix<Scalar, Exec> from_mpi(Exec const& exec, MPI_Comm comm, HostCsr<Scalar> rows) {
  MpiRanks const all(comm, rows.rows);
  std::vector<std::int64_t> starts(std::size_t(all.count()) + 1, all.rows());
  std::int64_t const first = all.first_row();
  MPI_Allgather(&first, 1, MPI_INT64_T, starts.data(), 1, MPI_INT64_T, comm);
  std::vector<RemoteRow> ghosts;
  Impl::together(&all, [&] {
    if (all.rows() > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("Solder::from_mpi: all ranks have more than 2^31 - 1 rows");
    rows.columns_count = static_cast<std::int32_t>(all.rows());
    rows.validate();
    ghosts = Impl::number_locally(rows, all.number(), starts);
  });
  auto const halo = std::make_shared<MpiHalo<Scalar>>(comm, rows.rows, ghosts);
  std::optional<DistributedMatrix<Scalar, Exec>> matrix;
  Impl::together(&all, [&] { matrix.emplace(exec, CsrMatrix<Scalar, Exec>(exec, rows), halo); });
  return *matrix;
}

}  // namespace Solder
