// All clients and workers of a measurement, in one process that costs little beside the server: one epoll, one kept
// connection for each of them, answers looked at where they lie.
//
//   load HOST PORT SEED     SEED: the workers' Ed25519 key, 64 hexadecimal digits
//
//   stdin    worker ID TOKEN                polls, signs, submits, polls again
//            client TOKEN wait MORE         submits a job and waits for its end, again and again
//            client TOKEN paced MS MORE     submits a job, and MS after a worker has it the next one
//            measure MS                     from now on, for so long
//            stop                           clients submit no more
//   stdout   measured DONE P50 P99 MAX CPU  jobs that ended; ms from the submit to the worker; CPU of this process in ms
//            stopped                        every client has its answer
//
// MORE are further members of the job's JSON, each after a comma, or -.
//
// It looks at its sockets and then sleeps for a fifth of a millisecond. If it slept in epoll_wait, every answer would wake
// it, and where cores are virtual that costs the server three times what it costs to send: no client at the other end of a
// network has to be woken by the server.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX 16384
#define STEP_MS 0.05
#define STEPS 40000
#define EVENTS_MAX 256
#define NAP_NS 200000
#define OUTPUT "{\"ok\":true}"

enum kind { WORKER, WAITING_CLIENT, PACED_CLIENT };

struct peer {
  enum kind kind;
  int fd;
  bool is_submitting; // a worker: its result is under way
  bool is_idle;       // a client: nothing of it is under way
  bool is_delivered;  // a paced client: a worker has its job
  long id;
  int pause_ms;
  double next_ms; // a paced client: when it submits again
  char token[128];
  char more[256];
  size_t got;
  char *answer; // of an answer that has not come whole
};

static struct sockaddr_in server;
static char host[256];
static EVP_PKEY *key;
static char output_hash[65];
static int poll_fd;
static struct peer *paced;
static int asking; // clients with a job under way
static bool is_stopping;
static uint32_t late[STEPS + 1];
static uint32_t dispatched, done;
static double measure_until, cpu_before;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static double cpu_ms(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void hex(char *to, const unsigned char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) sprintf(to + 2 * i, "%02x", bytes[i]);
}

static void open_connection(struct peer *peer) {
  peer->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (peer->fd < 0) die("socket");
  int yes = 1;
  setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(peer->fd, (struct sockaddr *)&server, sizeof server) < 0) die("connect");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, peer->fd, &event) < 0) die("epoll_ctl");
}

static void post(struct peer *peer, const char *path, const char *prefer, const char *body) {
  char request[4096];
  int length = snprintf(request, sizeof request,
                        "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s"
                        "Content-Length: %zu\r\n\r\n%s",
                        path, host, peer->token, prefer, strlen(body), body);
  if (length >= (int)sizeof request || send(peer->fd, request, length, MSG_NOSIGNAL) != length) die("send");
}

#define WAIT "Prefer: wait=50\r\n"

static void ask(struct peer *peer) {
  char body[1024];
  snprintf(body, sizeof body, "{\"payload\":{\"sent\":%.3f}%s}", now_ms(), peer->more);
  peer->is_idle = peer->is_delivered = false;
  asking++;
  post(peer, "/v1/jobs", peer->kind == WAITING_CLIENT ? WAIT : "", body);
}

static void poll_job(struct peer *peer) {
  char body[64];
  snprintf(body, sizeof body, "{\"worker_id\":%ld}", peer->id);
  peer->is_submitting = false;
  post(peer, "/jobs/poll", WAIT, body);
}

static void sign(const char *text, char *to) {
  unsigned char signature[64], encoded[96];
  size_t length = sizeof signature;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  if (EVP_DigestSignInit(context, NULL, NULL, NULL, key) != 1) die("sign");
  if (EVP_DigestSign(context, signature, &length, (const unsigned char *)text, strlen(text)) != 1) die("sign");
  EVP_MD_CTX_free(context);
  EVP_EncodeBlock(encoded, signature, sizeof signature);
  int at = 0;
  for (unsigned char *digit = encoded; *digit != 0 && *digit != '='; digit++)
    to[at++] = *digit == '+' ? '-' : *digit == '/' ? '_' : (char)*digit;
  to[at] = 0;
}

// The next job of a paced client comes so long after its last one was accepted and a worker has it.
static void pace(void) {
  if (paced != NULL && paced->is_idle && paced->is_delivered) paced->next_ms = now_ms() + paced->pause_ms;
}

static void submit_result(struct peer *peer, const char *answer) {
  const char *id_at = strstr(answer, "\"assignment_id\":"), *nonce_at = strstr(answer, "\"nonce\":\"");
  const char *sent_at = strstr(answer, "\"sent\":");
  if (id_at == NULL || nonce_at == NULL) die("an assignment without id or nonce");
  if (sent_at != NULL && now_ms() < measure_until) {
    int step = (int)((now_ms() - atof(sent_at + 7)) / STEP_MS);
    late[step < 0 ? 0 : step < STEPS ? step : STEPS]++;
    dispatched++;
  }
  long id = atol(id_at + 16);
  char nonce[129], text[512], signature[96], body[1024];
  sscanf(nonce_at + 9, "%128[^\"]", nonce);
  snprintf(text, sizeof text, "{\"assignment_id\":%ld,\"nonce\":\"%s\",\"output_hash\":\"%s\"}", id, nonce, output_hash);
  sign(text, signature);
  snprintf(body, sizeof body,
           "{\"worker_id\":%ld,\"assignment_id\":%ld,\"nonce\":\"%s\",\"signature\":\"%s\",\"output\":" OUTPUT
           ",\"output_hash\":\"%s\"}",
           peer->id, id, nonce, signature, output_hash);
  peer->is_submitting = true;
  post(peer, "/jobs/submit", "", body);
  if (paced != NULL) paced->is_delivered = true;
  pace();
}

static void hear_worker(struct peer *peer, int status, const char *answer) {
  if (peer->is_submitting) {
    if (status != 200 && status != 409) die(answer); // 409: a replica that was no longer wanted
    poll_job(peer);
  } else if (status == 200) submit_result(peer, answer);
  else if (status == 404) poll_job(peer);
  else die(answer);
}

static void hear_client(struct peer *peer, int status, const char *answer) {
  if (status != (peer->kind == WAITING_CLIENT ? 200 : 202)) die(answer);
  if (now_ms() < measure_until) done++;
  asking--;
  peer->is_idle = true;
  if (peer->kind == PACED_CLIENT) pace();
  if (peer->kind == WAITING_CLIENT && !is_stopping) ask(peer);
  if (is_stopping && asking == 0) printf("stopped\n");
}

static void hear(struct peer *peer) {
  if (peer->answer == NULL && (peer->answer = malloc(ANSWER_BYTES_MAX)) == NULL) die("malloc");
  ssize_t read = recv(peer->fd, peer->answer + peer->got, ANSWER_BYTES_MAX - peer->got - 1, 0);
  if (read < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (read <= 0) die("a connection was closed");
  peer->got += read;
  peer->answer[peer->got] = 0;
  char *end = strstr(peer->answer, "\r\n\r\n");
  if (end == NULL) return;
  char *length_at = strcasestr(peer->answer, "\r\ncontent-length:");
  if (length_at == NULL || length_at > end) die("an answer without a length");
  if (peer->got < (size_t)(end + 4 - peer->answer) + strtoul(length_at + 17, NULL, 10)) return;
  char *close_at = strcasestr(peer->answer, "\r\nconnection: close");
  if (close_at != NULL && close_at < end) {
    close(peer->fd); // the server limits the requests of one connection
    open_connection(peer);
  }
  char *answer = peer->answer;
  peer->answer = NULL;
  peer->got = 0;
  (peer->kind == WORKER ? hear_worker : hear_client)(peer, atoi(answer + 9), end + 4);
  free(answer); // thousands of peers wait, and few have an answer at a time
}

static void report(void) {
  double at[] = {0.5, 0.99, 1}, percentile[3] = {0};
  for (int i = 0; i < 3 && dispatched > 0; i++) {
    uint32_t seen = 0;
    int step = 0;
    while (step < STEPS && (seen += late[step]) < at[i] * dispatched) step++;
    percentile[i] = step * STEP_MS;
  }
  double cpu = cpu_ms() - cpu_before;
  printf("measured %u %.2f %.2f %.2f %.0f\n", done, percentile[0], percentile[1], percentile[2], cpu);
  measure_until = 0;
}

static struct peer *new_peer(enum kind kind, const char *token) {
  struct peer *peer = calloc(1, sizeof *peer);
  if (peer == NULL) die("calloc");
  peer->kind = kind;
  snprintf(peer->token, sizeof peer->token, "%s", token);
  open_connection(peer);
  return peer;
}

static void add_client(enum kind kind, const char *token, const char *more, int pause_ms) {
  struct peer *peer = new_peer(kind, token);
  if (strcmp(more, "-") != 0) snprintf(peer->more, sizeof peer->more, "%s", more);
  peer->pause_ms = pause_ms;
  if (kind == PACED_CLIENT) paced = peer;
  ask(peer);
}

static void obey(char *line) {
  char token[128], more[256];
  long id;
  int ms;
  if (sscanf(line, "worker %ld %127s", &id, token) == 2) {
    struct peer *peer = new_peer(WORKER, token);
    peer->id = id;
    poll_job(peer);
  } else if (sscanf(line, "client %127s wait %255s", token, more) == 2) add_client(WAITING_CLIENT, token, more, 0);
  else if (sscanf(line, "client %127s paced %d %255s", token, &ms, more) == 3) add_client(PACED_CLIENT, token, more, ms);
  else if (sscanf(line, "measure %d", &ms) == 1) {
    memset(late, 0, sizeof late);
    dispatched = done = 0;
    cpu_before = cpu_ms();
    measure_until = now_ms() + ms;
  } else if (strcmp(line, "stop") == 0) {
    is_stopping = true;
    if (asking == 0) printf("stopped\n");
  } else die("unknown order");
}

static void read_orders(void) {
  static char orders[256 * 1024];
  static size_t length;
  ssize_t got = read(0, orders + length, sizeof orders - length - 1);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
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

// As many connections as the system lets it have.
static void raise_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) die("getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) die("setrlimit");
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  raise_open_files();
  snprintf(host, sizeof host, "%s", argv[1]);
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(argv[2]))};
  if (inet_pton(AF_INET, host, &server.sin_addr) != 1) return 2;
  unsigned char seed[32], digest[32];
  for (int i = 0; i < 32; i++)
    if (sscanf(argv[3] + 2 * i, "%2hhx", &seed[i]) != 1) return 2;
  key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
  if (key == NULL) die("key");
  EVP_Digest(OUTPUT, strlen(OUTPUT), digest, NULL, EVP_sha256(), NULL);
  hex(output_hash, digest, sizeof digest);
  poll_fd = epoll_create1(0);
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
  if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, 0, &input) < 0) die("stdin");

  prctl(PR_SET_TIMERSLACK, 1);
  const struct timespec nap = {.tv_nsec = NAP_NS};
  for (;;) {
    struct epoll_event events[EVENTS_MAX];
    fflush(stdout);
    int ready = epoll_wait(poll_fd, events, EVENTS_MAX, 0);
    if (ready == 0) nanosleep(&nap, NULL);
    if (ready < 0 && errno != EINTR) die("epoll_wait");
    for (int i = 0; i < ready; i++) {
      if (events[i].data.ptr == NULL) read_orders();
      else hear(events[i].data.ptr);
    }
    if (paced != NULL && paced->next_ms != 0 && now_ms() >= paced->next_ms && !is_stopping) {
      paced->next_ms = 0;
      ask(paced);
    }
    if (measure_until != 0 && now_ms() >= measure_until) report();
  }
}
