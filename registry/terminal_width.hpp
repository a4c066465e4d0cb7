#pragma once

#include <sys/ioctl.h>

namespace runner {

// In columns; 80 if the terminal does not tell.
inline int terminal_width(int descriptor) {
  constexpr int usual = 80;
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

}  // namespace runner
