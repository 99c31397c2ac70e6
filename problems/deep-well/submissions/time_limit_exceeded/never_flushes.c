#include <stdio.h>
#include <string.h>

/* The questions stay in the buffer, and both wait for each other. */
int main(void) {
  static char buffer[65536];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  int low = 1, high = 1000000;
  char answer[20];
  while (low < high) {
    int middle = (low + high) / 2;
    printf("? %d\n", middle);
    if (scanf("%19s", answer) != 1) return 1;
    if (strcmp(answer, "reaches") == 0) high = middle;
    else low = middle + 1;
  }
  printf("! %d\n", low);
  return 0;
}
