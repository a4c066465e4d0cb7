#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "components/trackers/support/record_file.hpp"
#include "runner/tracking/item.hpp"

namespace runner {

// Items on disk, first in, first out, that survive the process. The file holds them one after the other; a
// second one, <file>.sent, says how many of its bytes have been dealt with. Both are made when the first item
// comes. For one thread at a time; throws std::runtime_error that names the file.
class Spool {
 public:
  explicit Spool(std::filesystem::path file);  // continues what is there, without a torn last item

  std::size_t size() const { return size_; }
  void append(const Item& item);
  std::vector<std::shared_ptr<const Item>> front(std::size_t most);  // the oldest, which stay ..
  void remove_front();                                               // .. until this
  void remove_after(std::int64_t step);                              // what is_after says

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
