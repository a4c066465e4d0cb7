#pragma once

#include <mutex>

namespace runner {

// The progress line at the bottom of a terminal, which is redrawn all the time. Code that prints ordinary
// lines pauses it first:
//   const LiveLinePause pause;
//   std::cout << "a whole line\n";
// Usually no live line is set; then a pause only prevents two threads from printing at the same time.
class LiveLine {
 public:
  virtual ~LiveLine() = default;

  virtual void erase() = 0;  // both are called with the lock of a pause held
  virtual void draw() = 0;
};

// Null removes the line, which must happen before it is destroyed.
void set_live_line(LiveLine* line);

// For the owner of the line: prevents other output without erasing the line.
std::unique_lock<std::recursive_mutex> lock_live_line();

class LiveLinePause {
 public:
  LiveLinePause();   // waits for other pauses, and erases the line
  ~LiveLinePause();  // draws it again
  LiveLinePause(const LiveLinePause&) = delete;
  LiveLinePause& operator=(const LiveLinePause&) = delete;
};

}  // namespace runner
