#include "runner/tracking/spool.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "registry/log.hpp"

namespace runner {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_read(const fs::path& file) {
  throw std::runtime_error("Cannot read " + file.string() + ": " + std::strerror(errno) + ".");
}

// Removes what follows the items that can be read. A process that was killed leaves part of its last item;
// items after a damaged one are kept in another file.
void cut_unreadable(const fs::path& file, std::uint64_t readable) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(readable));
  const std::string rest{std::istreambuf_iterator(in), {}};
  if (readable + rest.size() != fs::file_size(file)) cannot_read(file);
  if (find_record(std::string_view(rest).substr(rest.empty() ? 0 : 1))) {
    const fs::path copy = file.string() + ".damaged";
    fs::copy_file(file, copy, fs::copy_options::overwrite_existing);
    log::warning("{} is damaged: its last {} bytes cannot be sent; {} keeps a copy of the file.",
                 file.string(), rest.size(), copy.string());
  }
  fs::resize_file(file, readable);
}

}  // namespace

Spool::Spool(fs::path file) : file_(std::move(file)), sent_file_(file_.string() + ".sent") {
  if (!fs::is_regular_file(file_)) return;
  std::ifstream(sent_file_) >> sent_;
  if (sent_ > fs::file_size(file_)) write_sent(0);  // the process was killed after it had emptied the file
  std::ifstream in(file_, std::ios::binary);
  if (!in) cannot_read(file_);
  in.seekg(static_cast<std::streamoff>(sent_));
  std::uint64_t readable = sent_;
  while (const auto record = read_record(in)) readable += record_size(*record), ++size_;
  if (in.bad()) cannot_read(file_);
  if (readable < fs::file_size(file_)) cut_unreadable(file_, readable);
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
  // If the tracker's place is known, it had processed all items when the checkpoint was taken.
  const auto items = facts.place.empty() ? front(size_) : std::vector<SharedItem>{};
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
  fs::remove(sent_file_);  // if the process is killed here, some items are sent twice rather than never
  fs::rename(draft, file_);
  sent_ = 0;
  size_ = kept;
}

// Always the same 20 bytes in one write, so a process that is killed leaves the old or the new number.
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
