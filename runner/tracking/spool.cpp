#include "runner/tracking/spool.hpp"

#include <fstream>
#include <stdexcept>

namespace runner {

namespace fs = std::filesystem;

Spool::Spool(fs::path file) : file_(std::move(file)), sent_file_(file_.string() + ".sent") {
  if (!fs::is_regular_file(file_)) return;
  std::ifstream(sent_file_) >> sent_;
  if (sent_ > fs::file_size(file_)) write_sent(0);  // emptied, and then the process ended
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(sent_));
  std::uint64_t whole = sent_;
  while (const auto record = read_record(in)) whole += record_size(*record), ++size_;
  fs::resize_file(file_, whole);
}

void Spool::append(std::span<const SharedItem> items) {
  if (!out_) out_ = std::make_unique<RecordFile>(file_);
  for (const SharedItem& item : items) out_->add(write_item(*item));
  out_->flush();
  size_ += items.size();
}

void Spool::append_to_front(std::span<const SharedItem> items) {
  if (size_ > 0) throw std::logic_error("These items are older than those in the spool.");
  append(items);
  front_items_ = items.size();
  front_bytes_ = fs::file_size(file_) - sent_;
}

std::vector<SharedItem> Spool::front(std::size_t count) {
  std::vector<SharedItem> items;
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(sent_));
  front_bytes_ = 0;
  front_items_ = count;
  while (items.size() < count) {
    const auto record = read_record(in);
    if (!record) throw std::runtime_error(file_.string() + " is damaged: an item in it cannot be read.");
    front_bytes_ += record_size(*record);
    items.push_back(std::make_shared<const Item>(read_item(*record)));
  }
  return items;
}

void Spool::remove_front() {
  size_ -= front_items_;
  if (size_ == 0) fs::resize_file(file_, 0);
  write_sent(size_ == 0 ? 0 : sent_ + front_bytes_);
  front_items_ = 0;
  front_bytes_ = 0;
}

void Spool::cut(const RunFacts& facts) {
  if (size_ == 0) return;
  const auto items = front(size_);
  const fs::path draft = file_.string() + ".new";
  fs::remove(draft);
  std::size_t kept = 0;
  {
    RecordFile out(draft);
    for (const auto& item : items) {
      if (is_kept(*item, facts)) out.add(write_item(*item)), ++kept;
    }
    out.flush();
  }
  out_.reset();
  fs::remove(sent_file_);  // should the process end here, some are dealt with twice rather than never
  fs::rename(draft, file_);
  sent_ = 0;
  size_ = kept;
}

// Within one page, so a process that is killed leaves the old number or the new one.
void Spool::write_sent(std::uint64_t bytes) {
  sent_ = bytes;
  std::string text = std::to_string(bytes);
  text.resize(20, ' ');
  std::fstream out(sent_file_, std::ios::in | std::ios::out | std::ios::binary);
  if (!out) out.open(sent_file_, std::ios::out | std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw std::runtime_error("Cannot write " + sent_file_.string() + ".");
}

}  // namespace runner
