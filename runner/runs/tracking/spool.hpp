#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "components/trackers/record_file.hpp"
#include "runner/runs/tracking/item.hpp"

namespace runner {

// A first-in, first-out queue of items on disk, which survives the process. A second file, <file>.sent, holds
// the number of bytes that have been processed. Both are created when needed. Not thread-safe, except for
// front(). Throws std::runtime_error that names the file.
class Spool {
 public:
  static constexpr std::uint64_t most_sent = 64 << 20;

  // Continues an existing file, without a torn last item. Items that have been processed are removed from the
  // file once they take more than `longest_sent` bytes and the others take less.
  explicit Spool(std::filesystem::path file, std::uint64_t longest_sent = most_sent);

  std::size_t size() const { return size_; }
  void append(std::span<const SharedItem> items);  // and flushes them
  // The oldest `count` items; there must be that many. They stay until remove_front(). Another thread may
  // append at the same time.
  std::vector<SharedItem> front(std::size_t count);
  void append_to_front(std::span<const SharedItem> items);  // append(), then as if front() had returned them
  void remove_front();
  void cut(const RunFacts& facts);  // removes what a resumed run does not keep

 private:
  void write_sent(std::uint64_t bytes);
  template <class IsKept>
  void rewrite(std::size_t count, IsKept is_kept);
  void drop_sent();
  std::filesystem::path draft() const { return file_.string() + ".new"; }

  std::filesystem::path file_, sent_file_;
  std::uint64_t longest_sent_;
  std::uint64_t sent_ = 0;  // bytes at the start of the file
  std::size_t size_ = 0;    // items after those
  std::uint64_t front_bytes_ = 0;
  std::size_t front_items_ = 0;
  std::unique_ptr<RecordFile> out_;
};

}  // namespace runner
