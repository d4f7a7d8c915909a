# Compiles for arm64 on another machine; the tests run under qemu-user. Debian: g++-aarch64-linux-gnu qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# What programs see as / where it has a file. Older qemu shows them the /proc/cpuinfo of this machine, of which ONNX Runtime makes a null pointer when it is opened.
set(arm64_root ${CMAKE_BINARY_DIR}/arm64-root)
if(NOT EXISTS ${arm64_root}/proc/cpuinfo)
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR last "${processors} - 1")
  set(cpuinfo "")
  foreach(processor RANGE ${last})
    string(APPEND cpuinfo "processor\t: ${processor}\nBogoMIPS\t: 100.00\nFeatures\t: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid\n"
      "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n")
  endforeach()
  file(WRITE ${arm64_root}/proc/cpuinfo "${cpuinfo}")
  file(CREATE_LINK /usr/aarch64-linux-gnu/lib ${arm64_root}/lib SYMBOLIC)
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${arm64_root})
