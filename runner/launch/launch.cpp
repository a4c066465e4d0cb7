#include "runner/launch/launch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>
#include <set>
#include <stdexcept>

#include "registry/log.hpp"
#include "runner/distributed/meeting_place.hpp"
#include "runner/distributed/sighting.hpp"
#include "runner/distributed/store_client.hpp"
#include "runner/distributed/store_protocol.hpp"
#include "runner/distributed/store_server.hpp"
#include "runner/launch/rank_output.hpp"
#include "runner/launch/rank_process.hpp"

namespace runner {

namespace {

using Clock = std::chrono::steady_clock;

// The signals that a launcher handles, as something to poll. They are blocked for all threads from here on.
class Signals {
 public:
  Signals() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, signal);
    sigprocmask(SIG_BLOCK, &handled, &before_);
    descriptor_ = FileDescriptor(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  int descriptor() const { return descriptor_.number(); }

  // 0: none is left.
  int next() const {
    signalfd_siginfo info{};
    return read(descriptor_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                         : 0;
  }

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
};

// The store of the run: served here on the first machine, asked for on the others.
class RunStore {
 public:
  RunStore(const LaunchOptions& options)
      : secret_(options.secret_file ? read_secret_file(*options.secret_file)
                                    : store::random_bytes(store::nonce_bytes)) {
    if (options.node == 0) {
      const Address wanted = options.rendezvous.value_or(Address{"127.0.0.1", 0});
      FileDescriptor socket = listen_on(wanted);  // kept from now on: nobody else can take the port
      address_ = {wanted.host, port_of(socket)};
      server_ = std::make_unique<StoreServer>(std::move(socket), secret_);
    } else {
      address_ = *options.rendezvous;
    }
  }

  const Address& address() const { return address_; }
  const std::string& secret() const { return secret_; }

  std::optional<std::string> get(const std::string& key) {
    if (server_) return server_->get(key);
    try {
      constexpr std::chrono::seconds patience{5};
      if (!client_) client_ = c10::make_intrusive<StoreClient>(address_, secret_, patience);
      if (client_->check({key})) return client_->get_to_str(key);
    } catch (const std::exception&) {  // the first machine is gone, or not there yet: its ranks say so
      client_.reset();
    }
    return {};
  }

 private:
  const std::string secret_;
  Address address_;
  std::unique_ptr<StoreServer> server_;
  c10::intrusive_ptr<StoreClient> client_;
};

struct Rank {
  int number;
  pid_t process;
  RankOutput output;
  std::optional<int> status = {};  // once it has ended

  bool running() const { return !status; }
};

// One try: all ranks from their start to their end.
class Attempt {
 public:
  // `died`: when the attempt before this one did.
  Attempt(const LaunchOptions& options, int ranks, int restart, std::optional<Clock::time_point> died,
          RunStore& store, const Signals& signals, std::ostream& messages)
      : options_(options),
        restart_(restart),
        size_(options.nodes * ranks),
        store_(store),
        signals_(signals),
        messages_(messages),
        died_(died) {
    for (int local = 0; local < ranks; ++local) start(local, ranks);
  }

  ~Attempt() {
    kill_all(SIGKILL);  // where something is thrown
    for (Rank& rank : ranks_)
      if (rank.running()) waitpid(rank.process, nullptr, 0);
  }

  void wait() {
    while (std::ranges::any_of(ranks_, &Rank::running)) {
      poll_once();
      for (int signal = signals_.next(); signal != 0; signal = signals_.next()) handle(signal);
      reap();
      find_folder();
      report_recovery();
      for (Rank& rank : ranks_) rank.output.take();
      if (first_death_ && Clock::now() > first_death_at_ + grace) kill_all(SIGKILL);
    }
    for (Rank& rank : ranks_) rank.output.take();
    find_folder();
  }

  bool interrupted() const { return interrupted_; }
  const std::optional<std::string>& folder() const { return folder_; }  // the run's, where it was made
  Clock::time_point first_death_at() const { return first_death_at_; }

  // Those that failed by themselves, the first of them first; not those that only noticed.
  std::vector<const Rank*> culprits() const {
    std::vector<const Rank*> found;
    for (const int number : order_of_deaths_) {
      const Rank& rank = *std::ranges::find(ranks_, number, &Rank::number);
      const auto seen = sighting(number);
      const bool misled = seen && seen->state == Sighting::State::misled;
      if (exit_code_of(*rank.status) != 0 && !misled && !rank_was_killed_by_us(number))
        found.push_back(&rank);
    }
    return found;
  }

  int exit_code() const {
    if (const auto blamed = culprits(); !blamed.empty()) return exit_code_of(*blamed.front()->status);
    const auto failed =
        std::ranges::find_if(ranks_, [](const Rank& rank) { return exit_code_of(*rank.status) != 0; });
    return failed == ranks_.end() ? 0 : exit_code_of(*failed->status);
  }

  // Stopped by a signal and saved: every rank says so by its exit code.
  bool stopped() const {
    const int code = exit_code();
    return (code == 128 + SIGINT || code == 128 + SIGTERM) &&
           std::ranges::all_of(ranks_, [&](const Rank& rank) {
             return WIFEXITED(*rank.status) && WEXITSTATUS(*rank.status) == code;
           });
  }

  void explain() const {
    for (const Rank& rank : ranks_) {
      if (frozen_.contains(rank.number))
        messages_ << log::format("runner: rank {} (process {}) was stopped by a signal and did not go on.\n",
                                 rank.number, rank.process);
    }
    const auto blamed = culprits();
    for (const Rank* rank : blamed) {
      const auto seen = sighting(rank->number);
      messages_ << log::format("runner: rank {} (process {}) {}: {}{}.{}\n", rank->number, rank->process,
                               rank == blamed.front() ? "died first" : "died as well",
                               describe_wait_status(*rank->status),
                               seen ? log::format(", at step {}, in {}", seen->step, seen->doing) : "",
                               WIFSIGNALED(*rank->status) && WTERMSIG(*rank->status) == SIGKILL
                                   ? " The kernel does this when memory runs out."
                                   : "");
      if (rank == blamed.front()) show_output(*rank);
    }
    if (blamed.empty()) show_output(ranks_.front());
  }

 private:
  static constexpr std::chrono::seconds grace{10};  // for the others to find out and to say so

  void start(int local, int local_size) {
    const int number = options_.node * local_size + local;
    RankStart begin{options_.command, options_.environment, store_.secret(), number != 0};
    auto& variables = begin.environment;
    variables[variable::rank] = std::to_string(number);
    variables[variable::size] = std::to_string(size_);
    variables[variable::local_rank] = std::to_string(local);
    variables[variable::local_size] = std::to_string(local_size);
    variables[variable::restart] = std::to_string(restart_);
    variables[variable::store] = to_string(store_.address());
    variables.erase(variable::secret_file);
    if (!options_.gpus.empty())
      variables["CUDA_VISIBLE_DEVICES"] = std::to_string(options_.gpus[static_cast<std::size_t>(local)]);
    RankProcess process = start_rank(begin);
    ranks_.push_back({number, process.id,
                      RankOutput(std::move(process.output), log::format("[rank {}] ", number),
                                 options_.tee ? &messages_ : nullptr)});
  }

  void poll_once() {
    std::vector<pollfd> events{{signals_.descriptor(), POLLIN, 0}};
    for (const Rank& rank : ranks_)
      if (rank.output.open()) events.push_back({rank.output.descriptor(), POLLIN, 0});
    constexpr int to_look_for_the_folder = 200, for_ever = -1;
    const bool restless = !folder_ || first_death_ || died_;
    poll(events.data(), events.size(), restless ? to_look_for_the_folder : for_ever);
  }

  void handle(int signal) {
    if (signal == SIGCHLD) return;  // reap() looks at all of them
    kill_all(interrupted_ && asked_twice_ ? SIGKILL : signal == SIGHUP ? SIGTERM : signal);
    asked_twice_ = interrupted_;
    interrupted_ = true;
  }

  void reap() {
    for (Rank& rank : ranks_) {
      int status = 0;
      if (!rank.running() || waitpid(rank.process, &status, WNOHANG) != rank.process) continue;
      rank.status = status;
      order_of_deaths_.push_back(rank.number);
      if (exit_code_of(status) == 0 || first_death_) continue;
      first_death_ = true;
      first_death_at_ = Clock::now();
    }
  }

  void kill_all(int signal) {
    for (const Rank& rank : ranks_) {
      if (!rank.running()) continue;
      if (signal == SIGKILL && is_stopped(rank.process)) frozen_.insert(rank.number);
      if (signal == SIGKILL) killed_.insert(rank.number);
      kill(rank.process, signal);
    }
  }

  bool rank_was_killed_by_us(int number) const { return killed_.contains(number); }

  std::optional<Sighting> sighting(int number) const {
    const auto text = store_.get(attempt_name(restart_) + "/" + rank_key(number));
    return text ? std::optional(parse_sighting(*text)) : std::nullopt;
  }

  void find_folder() {
    if (folder_) return;
    folder_ = store_.get(attempt_name(restart_) + "/" + folder_key);
    if (!folder_ || folder_->empty()) return;
    for (Rank& rank : ranks_) {
      if (rank.number == 0) continue;  // on the terminal; its log is the run's log
      rank.output.write_to(std::filesystem::path(*folder_) / "ranks" /
                           log::format("rank-{}.log", rank.number));
    }
  }

  // How long a restart took, up to the first update that counts.
  void report_recovery() {
    if (!died_) return;
    const auto seen = sighting(0);
    if (!seen || seen->collective == 0) return;
    if (!resumed_at_) resumed_at_ = seen->step;
    if (seen->step <= *resumed_at_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - *died_).count();
    messages_ << log::format("runner: training went on {} s after the death.\n",
                             std::round(10 * seconds) / 10);
    died_.reset();
  }

  void show_output(const Rank& rank) const {
    if (rank.number == 0 || options_.tee || rank.output.last_lines().empty()) return;
    messages_ << "  its last words"
              << (rank.output.file() ? " (all in " + rank.output.file()->string() + ")" : "") << ":\n";
    for (const std::string& line : rank.output.last_lines()) messages_ << "    " << line << "\n";
  }

  const LaunchOptions& options_;
  const int restart_, size_;
  RunStore& store_;
  const Signals& signals_;
  std::ostream& messages_;
  std::vector<Rank> ranks_;
  std::vector<int> order_of_deaths_;
  std::set<int> killed_, frozen_;
  std::optional<std::string> folder_;  // the run's, once rank 0 has made it
  bool interrupted_ = false, asked_twice_ = false, first_death_ = false;
  Clock::time_point first_death_at_;
  std::optional<Clock::time_point> died_;
  std::optional<std::int64_t> resumed_at_;  // step
};

}  // namespace

int launch(LaunchOptions options, std::ostream& messages) {
  const Signals signals;  // first: every thread that starts from here on leaves them to this one
  RunStore store(options);
  int ranks = options.ranks;
  std::optional<Clock::time_point> died;
  for (int restart = 0;; ++restart) {
    Attempt attempt(options, ranks, restart, died, store, signals, messages);
    attempt.wait();
    const int code = attempt.exit_code();
    if (code == 0 || attempt.stopped()) return code;
    attempt.explain();
    constexpr int bad_input = 2;  // would be as bad again
    if (attempt.interrupted() || code == bad_input || restart == options.max_restarts) return code;
    if (options.fewest_ranks) {
      ranks = std::max(ranks - static_cast<int>(attempt.culprits().size()), *options.fewest_ranks);
    }
    died = attempt.first_death_at();
    // Continued in its folder, from the newest checkpoint there.
    if (attempt.folder() && !attempt.folder()->empty())
      options.command.push_back("run.dir=" + *attempt.folder());
    messages << log::format(
                    "runner: starting {} again (restart {} of {}).\n",
                    options.nodes * ranks == 1 ? "1 rank" : std::to_string(options.nodes * ranks) + " ranks",
                    restart + 1, options.max_restarts)
             << std::flush;
  }
}

}  // namespace runner
