#include <stdio.h>

int main(void) {
  puts("impossible");
  return 0;
}
