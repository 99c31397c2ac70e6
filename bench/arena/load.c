// All players of all sessions, in one process that costs little beside the server it measures: one epoll, one read buffer,
// frames looked at where they lie, inputs with a mask of zeros (which leaves the payload as it is).
//
//   load HOST PORT reeve|colyseus
//
//   stdin    open PATH TOKEN      one more socket; TOKEN is a bearer token, or -
//            measure MS           from now on, for so long
//   stdout   in NUMBER            that socket (counted from 0) has been let in
//            playing COUNT        so many sockets have heard a state
//            lost NUMBER WHY
//            measured P50 P99 MAX STATES    of states that came late, in ms; how many states came
//
// How late a state is: the time since the state before, less the interval, by the clock of this process, to a millisecond: it
// looks at its sockets and then sleeps so long. If it slept in epoll_wait, every state would have to wake it, and where cores
// are virtual that costs the server three times what it costs to send (17 µs in place of 6, measured); no client at the
// other end of a network has to be woken by the server.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// TICK_MS and STATES_PER_INPUT are said to the compiler: they are the game's (game.ts).
#define REST_BYTES_MAX 8192
#define STEP_MS 0.1
#define STEPS 10000
#define EVENTS_MAX 256
#define NAP_MS 1

struct player {
  int fd;
  int number;
  bool is_open;
  uint32_t states;
  uint32_t sequence;
  double last_ms;
  size_t rest_bytes; // of a frame that has not come whole
  uint8_t rest[REST_BYTES_MAX];
};

static struct sockaddr_in server;
static char host[256];
static bool is_colyseus;
static int poll_fd;
static int players;
static int playing;
static uint32_t late[STEPS + 1];
static uint32_t measured;
static double measure_until;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void lose(struct player *player, const char *why, size_t length) {
  printf("lost %d %.*s\n", player->number, (int)length, why);
  close(player->fd);
  player->fd = -1;
}

static void send_all(struct player *player, const void *bytes, size_t length) {
  if (send(player->fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) lose(player, "cannot send", 11);
}

static void send_frame(struct player *player, int opcode, const void *payload, size_t length) {
  uint8_t frame[512] = {0x80 | opcode};
  size_t head = length < 126 ? 2 : 4;
  if (head + 4 + length > sizeof frame) return;
  frame[1] = 0x80 | (head == 2 ? length : 126);
  if (head == 4) {
    frame[2] = length >> 8;
    frame[3] = length & 0xff;
  }
  memcpy(frame + head + 4, payload, length);
  send_all(player, frame, head + 4 + length);
}

static void note_state(struct player *player) {
  double now = now_ms();
  if (player->states++ == 0) printf("playing %d\n", ++playing);
  else if (now < measure_until) {
    double late_ms = now - player->last_ms - TICK_MS;
    int step = late_ms <= 0 ? 0 : (int)(late_ms / STEP_MS) + 1;
    late[step < STEPS ? step : STEPS]++;
    measured++;
  }
  player->last_ms = now;
}

// Reeve: text. A state names its session and its tick at fixed places.
#define EVENT "{\"t\":\"event\",\"seq\":0,\"event\":\""
#define STATE EVENT "session.state\",\"p\":{\"sessionId\":\""
#define TICK_AT (sizeof STATE - 1 + 36 + sizeof "\",\"tick\":" - 1)

static bool begins(const uint8_t *payload, size_t length, const char *text) {
  size_t wanted = strlen(text);
  return length >= wanted && memcmp(payload, text, wanted) == 0;
}

static void hear_reeve(struct player *player, const uint8_t *payload, size_t length) {
  if (begins(payload, length, EVENT "auth_state\"")) printf("in %d\n", player->number);
  if (!begins(payload, length, STATE) || length < TICK_AT) return;
  note_state(player);
  if (player->states % STATES_PER_INPUT != 0) return;
  uint32_t sequence = ++player->sequence;
  char input[400];
  int written = snprintf(
      input, sizeof input,
      "{\"t\":\"event\",\"seq\":%u,\"event\":\"session.input\",\"p\":{\"sessionId\":\"%.36s\",\"sequence\":%u,"
      "\"targetTick\":%d,\"delta\":%d}}",
      sequence, (const char *)payload + sizeof STATE - 1, sequence, atoi((const char *)payload + TICK_AT) + 2,
      (int)(sequence % 7) - 3);
  send_frame(player, 1, input, written);
}

// Colyseus: binary. The join is answered; an input is its name and an object, in msgpack.
enum { JOIN_ROOM = 10, ROOM_DATA = 13, ROOM_STATE_PATCH = 15 };

static void hear_colyseus(struct player *player, const uint8_t *payload, size_t length) {
  if (length == 0) return;
  if (payload[0] == JOIN_ROOM) {
    uint8_t joined = JOIN_ROOM;
    send_frame(player, 2, &joined, 1);
    printf("in %d\n", player->number);
  }
  if (payload[0] != ROOM_STATE_PATCH) return;
  note_state(player);
  if (player->states % STATES_PER_INPUT != 0) return;
  uint32_t sequence = ++player->sequence;
  uint8_t input[] = "\x0d\xa5input\x82\xa8sequence\xce....\xa5" "delta.";
  uint32_t big_endian = htonl(sequence);
  memcpy(input + 18, &big_endian, 4);
  input[sizeof input - 2] = (uint8_t)((int)(sequence % 7) - 3);
  send_frame(player, 2, input, sizeof input - 1);
}

static void hear_frame(struct player *player, int opcode, const uint8_t *payload, size_t length) {
  if (opcode == 9) send_frame(player, 10, payload, length);
  else if (opcode == 8) lose(player, length < 2 ? "closed" : (const char *)payload + 2, length < 2 ? 6 : length - 2);
  else if (opcode <= 2) (is_colyseus ? hear_colyseus : hear_reeve)(player, payload, length);
}

static size_t hear_frames(struct player *player, const uint8_t *data, size_t length) {
  size_t at = 0;
  while (player->fd != -1 && length - at >= 2) {
    size_t head = (data[at + 1] & 0x7f) < 126 ? 2 : 4; // nothing here is over 64 KB
    if (length - at < head) break;
    size_t bytes = head == 2 ? data[at + 1] : (size_t)data[at + 2] << 8 | data[at + 3];
    if (length - at < head + bytes) break;
    hear_frame(player, data[at] & 0x0f, data + at + head, bytes);
    at += head + bytes;
  }
  return at;
}

static size_t hear_upgrade(struct player *player, uint8_t *data, size_t length) {
  uint8_t *end = memmem(data, length, "\r\n\r\n", 4);
  if (end == NULL) return 0;
  if (!begins(data, length, "HTTP/1.1 101")) {
    lose(player, (const char *)data, 12);
    return 0;
  }
  player->is_open = true;
  return end + 4 - data;
}

static void hear(struct player *player) {
  static uint8_t buffer[256 * 1024];
  memcpy(buffer, player->rest, player->rest_bytes);
  ssize_t got = recv(player->fd, buffer + player->rest_bytes, sizeof buffer - player->rest_bytes - 1, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose(player, "closed", 6);
  size_t length = player->rest_bytes + got;
  buffer[length] = 0;
  size_t at = player->is_open ? 0 : hear_upgrade(player, buffer, length);
  if (player->is_open) at += hear_frames(player, buffer + at, length - at);
  if (player->fd == -1) return;
  if (length - at > REST_BYTES_MAX) return lose(player, "too much at once", 16);
  player->rest_bytes = length - at;
  memcpy(player->rest, buffer + at, player->rest_bytes);
}

static void open_player(const char *path, const char *token) {
  struct player *player = calloc(1, sizeof *player);
  if (player == NULL) die("calloc");
  player->number = players++;
  player->fd = socket(AF_INET, SOCK_STREAM, 0);
  int yes = 1;
  if (player->fd < 0) die("socket");
  setsockopt(player->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(player->fd, (struct sockaddr *)&server, sizeof server) < 0) die("connect");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = player};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, player->fd, &event) < 0) die("epoll_ctl");
  char request[2048];
  bool has_token = strcmp(token, "-") != 0;
  int length = snprintf(request, sizeof request,
                        "GET %s HTTP/1.1\r\nHost: %s:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s%s\r\n",
                        path, host, ntohs(server.sin_port), has_token ? "Authorization: Bearer " : "",
                        has_token ? token : "", has_token ? "\r\n" : "");
  send_all(player, request, length);
}

static void report(void) {
  double at[] = {0.5, 0.99, 1}, percentile[3] = {0};
  for (int i = 0; i < 3; i++) {
    uint32_t seen = 0;
    int step = 0;
    while (step < STEPS && (seen += late[step]) < at[i] * measured) step++;
    percentile[i] = step * STEP_MS;
  }
  printf("measured %.1f %.1f %.1f %u\n", percentile[0], percentile[1], percentile[2], measured);
  measure_until = 0;
}

static void obey(char *line) {
  char path[1024], token[256];
  int ms;
  if (sscanf(line, "open %1023s %255s", path, token) == 2) return open_player(path, token);
  if (sscanf(line, "measure %d", &ms) != 1) die("unknown order");
  memset(late, 0, sizeof late);
  measured = 0;
  measure_until = now_ms() + ms;
}

static void read_orders(void) {
  static char orders[64 * 1024];
  static size_t length;
  ssize_t got = read(0, orders + length, sizeof orders - length - 1);
  if (got <= 0) exit(0);
  length += got;
  orders[length] = 0;
  char *line = orders;
  for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = 0;
    obey(line);
  }
  length -= line - orders;
  memmove(orders, line, length);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  snprintf(host, sizeof host, "%s", argv[1]);
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
  if (inet_pton(AF_INET, host, &server.sin_addr) != 1) return 2;
  is_colyseus = strcmp(argv[3], "colyseus") == 0;
  poll_fd = epoll_create1(0);
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, 0, &input) < 0) die("stdin");

  const struct timespec nap = {.tv_nsec = NAP_MS * 1000000};
  for (;;) {
    struct epoll_event events[EVENTS_MAX];
    fflush(stdout);
    int ready = epoll_wait(poll_fd, events, EVENTS_MAX, 0);
    if (ready == 0) nanosleep(&nap, NULL);
    if (ready < 0 && errno != EINTR) die("epoll_wait");
    for (int i = 0; i < ready; i++) {
      struct player *player = events[i].data.ptr;
      if (player == NULL) read_orders();
      else if (player->fd != -1) hear(player);
    }
    if (measure_until != 0 && now_ms() >= measure_until) report();
  }
}
