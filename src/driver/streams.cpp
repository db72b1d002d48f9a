// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "streams.hpp"

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "errors.hpp"

namespace Solder::Driver {

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (int stream = 0; stream < 3; ++stream)  // open() takes the lowest free number
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", O_RDONLY);
}

void print(std::string_view text) {
  errno = 0;
  std::cout << text << std::flush;
  if (!std::cout)
    throw std::runtime_error(
        concat("standard output cannot be written: ", std::strerror(errno ? errno : EIO)));
}

}  // namespace Solder::Driver
