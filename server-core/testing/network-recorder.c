/* Preloaded into a process under test: writes every attempt to resolve a name or to reach another machine into the file that
   NETWORK_RECORDER_FILE names, and refuses it, so that nothing leaves the machine. Loopback passes. System calls made without the C
   library are not seen. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void record(const char *call, const char *detail) {
  const char *path = getenv("NETWORK_RECORDER_FILE");
  if (path == NULL) return;
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0) return;
  dprintf(file, "%s %s\n", call, detail);
  close(file);
}

/* 1 and a record when the address is another machine's. */
static int leaves(const char *call, const struct sockaddr *address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address == NULL) return 0;
  if (address->sa_family == AF_INET) {
    const struct in_addr *ip = &((const struct sockaddr_in *)address)->sin_addr;
    if ((ntohl(ip->s_addr) >> 24) == 127 || ip->s_addr == 0) return 0;
    inet_ntop(AF_INET, ip, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const struct in6_addr *ip = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(ip) || IN6_IS_ADDR_UNSPECIFIED(ip)) return 0;
    inet_ntop(AF_INET6, ip, text, sizeof text);
  } else {
    return 0;
  }
  record(call, text);
  errno = ENETUNREACH;
  return 1;
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
  return leaves("connect", address) ? -1 : real(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
  ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "sendto");
  return leaves("sendto", address) ? -1 : real(socket, data, size, flags, address, length);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  ssize_t (*real)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
  return leaves("sendmsg", message->msg_name) ? -1 : real(socket, message, flags);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
  struct in6_addr numeric;
  if (name == NULL || strcmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &numeric) == 1 || inet_pton(AF_INET6, name, &numeric) == 1) {
    return real(name, service, hints, result);
  }
  record("getaddrinfo", name);
  return EAI_FAIL;
}
