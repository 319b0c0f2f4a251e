#include "rungs/grader/recording.hpp"

#include "rungs/grader/protocol.hpp"

namespace rungs {

void Recording::add(const std::string& name, const Tensor& value, bool is_output) {
  if (fd >= 0) {
    Message m;
    m.kind = is_output ? Message::output : Message::tap;
    m.name = name;
    m.tensor = value.view();
    send(fd, m);
  }
  if (fd < 0 || keeps) pieces.push_back({name, value.copy(), is_output});
}

}  // namespace rungs
