// Loaded before MPI, it gets its process lost: RUNGS_LOST=SIGNAL a second after MPI_Init, or RUNGS_LOST_AT_BEGIN=SIGNAL
// in MPI_Init, or RUNGS_LOST_AT_END=SIGNAL in MPI_Finalize. The time is counted from MPI_Init on, since that takes
// seconds on some machines.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

static void lose_where(const char* variable) {
  if (const char* signal = std::getenv(variable)) std::raise(std::atoi(signal));
}

static void lose(int) { lose_where("RUNGS_LOST"); }

extern "C" int MPI_Init_thread(int* argc, char*** argv, int wanted, int* provided) {
  lose_where("RUNGS_LOST_AT_BEGIN");
  const auto init = reinterpret_cast<decltype(&MPI_Init_thread)>(dlsym(RTLD_NEXT, "MPI_Init_thread"));
  const int status = init(argc, argv, wanted, provided);
  std::signal(SIGALRM, lose);
  alarm(1);
  return status;
}

extern "C" int MPI_Finalize() {
  lose_where("RUNGS_LOST_AT_END");
  const auto finalize = reinterpret_cast<decltype(&MPI_Finalize)>(dlsym(RTLD_NEXT, "MPI_Finalize"));
  return finalize();
}
