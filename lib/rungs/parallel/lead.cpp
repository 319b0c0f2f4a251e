#include "rungs/parallel/lead.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rungs {

namespace {

/// What comes before each message: what to do, and how many numbers follow.
struct Head {
  enum Task : int64_t { call, answer, end } task;
  int64_t numbers;
};

/// A message is lists of numbers, each behind its length.
void append(std::vector<int32_t>& message, std::span<const int32_t> list) {
  message.push_back(int32_t(list.size()));
  message.insert(message.end(), list.begin(), list.end());
}

/// The lists of a message, in the order in which they were appended.
struct Lists {
  std::span<const int32_t> message;

  std::vector<int32_t> next() {
    const auto n = size_t(message[0]);
    const std::span<const int32_t> list = message.subspan(1, n);
    message = message.subspan(1 + n);
    return {list.begin(), list.end()};
  }
};

void send(Communicator& ranks, Head::Task task, std::vector<int32_t> message = {}) {
  Head head{task, int64_t(message.size())};
  ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)));
  if (!message.empty()) ranks.broadcast(std::as_writable_bytes(std::span(message)));
}

/// Every rank says that it is there.
void gather_answers(Communicator& ranks) {
  const std::byte mine[1] = {};
  std::vector<std::byte> all(size_t(ranks.ranks()));
  ranks.all_gather(all, std::span<const std::byte>(mine));
}

}  // namespace

void LeadingModel::forward(Tensor& logits, const Batch& batch, KvCache* cache) {
  if (!cache || !cache->is_paged()) throw UsageError("several ranks of a server: wanted a paged KV cache");
  std::vector<int32_t> message;
  for (const auto* list : {&batch.token, &batch.sequence, &batch.position, &batch.logit_rows}) append(message, *list);
  append(message, copies_);
  std::vector<int32_t> sequences = batch.sequence;
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  append(message, sequences);
  for (const int32_t sequence : sequences) append(message, cache->tables[size_t(sequence)]);
  send(ranks_, Head::call, std::move(message));
  copies_.clear();
  try {
    shared_->forward(logits, batch, cache);
  } catch (const RankLost&) {
    throw;
  } catch (const std::exception& e) {
    throw RankLost(ranks_.rank(), fmt::format("rank {}: {}", ranks_.rank(), e.what()));
  }
}

void LeadingModel::copy_block(KvCache& cache, int32_t to, int32_t from) {
  shared_->copy_block(cache, to, from);
  copies_.insert(copies_.end(), {to, from});
}

void ask_followers(Communicator& ranks) {
  send(ranks, Head::answer);
  gather_answers(ranks);
}

void end_followers(Communicator& ranks) { send(ranks, Head::end); }

void follow(Model& shared, Communicator& ranks, int64_t sequences, const Paging& paging, DType cache_dtype) {
  KvCache cache(shared.backend().device, shared.config(), sequences, paging, cache_dtype);
  Tensor all_logits = shared.backend().device.allocate({sequences, shared.config().vocab_size});
  while (true) {
    Head head{};
    ranks.broadcast(std::as_writable_bytes(std::span(&head, 1)));
    if (head.task == Head::end) return;
    if (head.task == Head::answer) {
      gather_answers(ranks);
      continue;
    }
    std::vector<int32_t> message(size_t(head.numbers));
    ranks.broadcast(std::as_writable_bytes(std::span(message)));
    Lists lists{message};
    Batch batch;
    for (auto* list : {&batch.token, &batch.sequence, &batch.position, &batch.logit_rows}) *list = lists.next();
    const std::vector<int32_t> copies = lists.next();
    for (size_t i = 0; i < copies.size(); i += 2) shared.copy_block(cache, copies[i], copies[i + 1]);
    for (const int32_t sequence : lists.next()) cache.tables.at(size_t(sequence)) = lists.next();
    Tensor logits = all_logits.view_rows(0, int64_t(batch.logit_rows.size()));
    shared.forward(logits, batch, &cache);
  }
}

}  // namespace rungs
