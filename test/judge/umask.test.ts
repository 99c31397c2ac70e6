// A server whose umask keeps its files from everybody else, as a careful administrator sets it. Whoever runs in a box is somebody
// else, and must be able to read what the box shows. The umask is the process's: this file has one of its own.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { judge, putProblem, setup, TWICE } from '../contract/judge/setup.ts'
import { packageFiles, packageOf } from '../support/zip.ts'
import { cannotTest } from './rig.ts'

/** Reads all that a validator may: the input and the answer by their names, the output by its name and as its standard input. */
const CHECKER = `#include <stdio.h>
#include "testlib.h"
int main(int argc, char **argv) {
  int number[3] = {0};
  for (int i = 0; i < 3; i++) {
    FILE *file = fopen(argv[1 + i], "r");
    if (file == NULL || fscanf(file, "%d", &number[i]) != 1) return perror(argv[1 + i]), 3;
  }
  return number[1] == number[2] ? 0 : 1;
}
`

describe('a server with the umask 077', { skip: cannotTest }, () => {
  let umask = 0
  before(() => {
    umask = process.umask(0o077)
  })
  after(() => {
    process.umask(umask)
  })

  test('judges what is compiled and what is not, with the comparator and with a checker', async (t) => {
    const { url, ann } = await setup(t)
    const files = packageFiles({
      'problem.yaml': 'validation: custom\nlimits: {time_limit: 1}\n',
      'output_validators/check/testlib.h': '// only its name\n',
      'output_validators/check/check.cpp': CHECKER,
    })
    await putProblem(url, 'checked', packageOf(files))

    const compiled = await judge(url, ann, { code: TWICE.accepted })
    const interpreted = await judge(url, ann, { language: 'python3', code: 'print(2 * int(input()))\n' })
    const checked = await judge(url, ann, { problem_id: 'checked', code: TWICE.accepted })

    assert.deepEqual(
      [compiled, interpreted, checked].map(({ verdict, reason }) => [verdict, reason]),
      [
        ['AC', undefined],
        ['AC', undefined],
        ['AC', undefined],
      ],
    )
  })
})
