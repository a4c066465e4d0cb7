#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "components/trackers/support/record_file.hpp"
#include "runner/tracking/item.hpp"

namespace runner {

// Items on disk, first in, first out, that survive the process. The file holds them one after the other; a
// second one, <file>.sent, says how many of its bytes have been dealt with. Both are made when the first item
// comes. For one thread at a time, but for front(); throws std::runtime_error that names the file.
class Spool {
 public:
  explicit Spool(std::filesystem::path file);  // continues what is there, without a torn last item

  std::size_t size() const { return size_; }
  void append(std::span<const SharedItem> items);  // in one piece
  // The oldest items, of which there are at least that many. They stay until remove_front(). Another thread
  // may append meanwhile.
  std::vector<SharedItem> front(std::size_t count);
  void append_to_front(std::span<const SharedItem> items);  // append(), and as if front() had given them
  void remove_front();
  void cut(const RunFacts& facts);  // what a resumed run does not keep

 private:
  void write_sent(std::uint64_t bytes);

  std::filesystem::path file_, sent_file_;
  std::uint64_t sent_ = 0;  // bytes
  std::size_t size_ = 0;    // items after those
  std::uint64_t front_bytes_ = 0;
  std::size_t front_items_ = 0;
  std::unique_ptr<RecordFile> out_;
};

}  // namespace runner
