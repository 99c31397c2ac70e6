// What packages bring with them: validators of either protocol, interactors, several passes, files of their own.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BoxRunner } from '../../src/doors/judge/sandbox/box.ts'
import { Interrupted } from '../../src/doors/judge/work/box-run.ts'
import { noBoxes } from './rig.ts'
import { judge, openTestWorker } from './judge-worker.ts'

const TWICE = 'print(2 * int(input()))\n'
const python = (code: string) => ({ language: 'python3', code })

/** Accepts twice the input, and says what it saw. */
const VALIDATOR = `import os, sys
judge_in, judge_ans, feedback = sys.argv[1:4]
def say(name, text): open(os.path.join(feedback, name), "w").write(text)
say("judgemessage.txt", "flags " + " ".join(sys.argv[4:]))
say("teammessage.txt", "look again")
words = sys.stdin.read().split()
sys.exit(42 if words == [str(2 * int(open(judge_in).read()))] else 43)
`

/** As testlib has it, in as many lines as these tests need. */
const TESTLIB_H = `#include <cstdio>
#include <cstdlib>
enum { _ok = 0, _wa = 1, _pe = 2, _fail = 3, _points = 7 };
static FILE *inf, *ouf, *ans;
inline void registerTestlibCmd(int argc, char **argv) {
  if (argc < 4) exit(3);
  inf = fopen(argv[1], "r"), ouf = fopen(argv[2], "r"), ans = fopen(argv[3], "r");
}
inline void quit(int code, const char *text) { fprintf(stderr, "%s", text); exit(code); }
`
const testlib = (body: string) => ({
  'problem.yaml': 'validation: custom\nlimits: {time_limit: 1}\n',
  'output_validators/check/testlib.h': TESTLIB_H,
  'output_validators/check/check.cpp': `#include "testlib.h"
int main(int argc, char **argv) {
  registerTestlibCmd(argc, argv);
  int n = 0, said = -1, right = -2;
  fscanf(inf, "%d", &n), fscanf(ans, "%d", &right), fscanf(ouf, "%d", &said);
  ${body}
}
`,
})

describe('a validator', { skip: noBoxes }, () => {
  const files = {
    'problem.yaml': 'validation: custom\nvalidator_flags: be strict\n',
    'output_validators/validate.py': VALIDATOR,
  }

  test('decides by exit 42 and 43; its message to the team is shown, its message to the judges only for samples', async (t) => {
    const worker = await openTestWorker(t)

    const right = await judge(t, worker, files, python(TWICE))
    const wrong = await judge(t, worker, files, python('print(42)\n'))
    const early = await judge(t, worker, files, python('print(1)\n'))

    assert.equal(right.verdict, 'AC')
    assert.equal(wrong.verdict, 'WA')
    assert.equal(wrong.tests[1]?.message, 'look again')
    assert.equal(early.tests[0]?.message, 'look again\nflags be strict')
  })

  test('sees neither the submission nor anything else of this machine, and the submission sees nothing of the tests', async (t) => {
    const worker = await openTestWorker(t)
    const nosy = `import os\nprint(2 * int(input()))\nseen = [f for f in os.listdir("/") + os.listdir("/work") if f in ("data", "program", "io", "feedback")]\nassert not seen, seen\n`
    const spying = `import os, sys\nassert sorted(os.listdir("/data")) == ["sample", "secret"] and os.listdir("/work") == []\nassert not os.path.exists("/root") and not os.path.exists("/home")\nsys.exit(42)\n`

    const judged = await judge(t, worker, { ...files, 'output_validators/validate.py': spying }, python(nosy))

    assert.equal(judged.verdict, 'AC')
  })

  test('may give points, and must if the package says so', async (t) => {
    const worker = await openTestWorker(t)
    const scoring = (validator: string) => ({
      'problem.yaml': 'type: scoring\nvalidation: custom score\n',
      'data/testdata.yaml': 'grader_flags: ignore_sample',
      'output_validators/validate.py': `import sys\nfeedback = sys.argv[3]\n${validator}\nsys.exit(42)\n`,
    })

    const points = await judge(t, worker, scoring('open(feedback + "score.txt", "w").write("12.5")'), python(TWICE))
    const none = judge(t, worker, scoring(''), python(TWICE))

    assert.equal(points.score, 25)
    await assert.rejects(none, /no score that is a number/)
  })

  test('that leaves a link where its message should be shows nothing of this machine', async (t) => {
    const worker = await openTestWorker(t)
    const linking = `import os, sys\nos.symlink("/etc/passwd", sys.argv[3] + "judgemessage.txt")\nos.mkfifo(sys.argv[3] + "teammessage.txt")\nsys.exit(43)\n`

    const judged = await judge(t, worker, { ...files, 'output_validators/validate.py': linking }, python(TWICE))

    assert.deepEqual([judged.verdict, judged.tests[0]?.message], ['WA', ''])
  })

  test('that leaves closed or deep folders harms neither the next submission nor the closing of the worker', async (t) => {
    const worker = await openTestWorker(t)
    const hiding = (code: string) => ({
      ...files,
      'output_validators/validate.py': `import os, sys\n${code}\nsys.exit(42)\n`,
    })
    const closed = 'os.mkdir("closed"); open("closed/file", "w").close(); os.chmod("closed", 0); os.chmod("/work", 0)'
    const long = 'for _ in range(40):\n  os.mkdir("d" * 250)\n  os.chdir("d" * 250)'

    for (const code of [closed, long]) {
      const outcome = await judge(t, worker, hiding(code), python(TWICE)).then(
        ({ verdict }) => verdict,
        (error: unknown) => String(error),
      )
      assert.match(outcome, /^AC$|The output validator/)
      assert.equal((await judge(t, worker, files, python(TWICE))).verdict, 'AC')
    }
    await worker.close()
  })

  test('of several files is built with headers beside it and in folders', async (t) => {
    const worker = await openTestWorker(t)
    const own = {
      'problem.yaml': 'validation: custom\n',
      'output_validators/check/main.cc':
        '#include "beside.h"\n#include "inside.h"\nint main() { return BESIDE + inside(); }\n',
      'output_validators/check/beside.h': '#define BESIDE 40\n',
      'output_validators/check/include/inside.h': 'int inside();\n',
      'output_validators/check/more/inside.cc': '#include "inside.h"\nint inside() { return 2; }\n',
    }

    const judged = await judge(t, worker, own, python(TWICE))

    assert.equal(judged.verdict, 'AC', judged.compileOutput)
  })

  test('may bring scripts: `build` makes it in its folder, and `run` starts it', async (t) => {
    const worker = await openTestWorker(t)
    const scripted = {
      'problem.yaml': 'validation: custom\n',
      'output_validators/check/build': '#!/bin/sh\ncc -DRIGHT=42 judge.c -o the-judge\n',
      'output_validators/check/run': '#!/usr/bin/env sh\nexec "$(dirname "$0")/the-judge" "$2"\n',
      'output_validators/check/judge.c':
        '#include <stdio.h>\nint main(int c, char **v) { int a, b; if (scanf("%d", &a) != 1) return 43; fscanf(fopen(v[1], "r"), "%d", &b); return a == b ? RIGHT : 43; }\n',
    }

    const right = await judge(t, worker, scripted, python(TWICE))
    const wrong = await judge(t, worker, scripted, python('print(7)'))
    const broken = judge(
      t,
      worker,
      { ...scripted, 'output_validators/check/build': '#!/bin/sh\necho no; exit 1\n' },
      python(TWICE),
    )

    assert.deepEqual([right.verdict, wrong.verdict], ['AC', 'WA'])
    await assert.rejects(broken, { message: 'The output validator does not compile.', detail: 'no\n', final: true })
  })

  test('that does not compile, hangs or writes too much is the problem’s fault, and final', async (t) => {
    const worker = await openTestWorker(t)
    const broken: [validator: string, why: RegExp][] = [
      ['def (', /does not compile/],
      ['while True: pass', /took too long/],
      ['import sys; sys.exit(1)', /ended with 1/],
    ]

    for (const [validator, why] of broken) {
      const own = {
        'problem.yaml': 'validation: custom\nlimits: {validation_time: 1}\n',
        'output_validators/validate.py': `${validator}\n`,
      }
      const judging = judge(t, worker, own, python(TWICE))
      await assert.rejects(
        judging,
        (error: Error & { final?: boolean }) => why.test(error.message) && error.final === true,
      )
    }
  })
})

describe('a checker of testlib', { skip: noBoxes }, () => {
  test('is called with input, output and answer, and its exit codes are understood', async (t) => {
    const worker = await openTestWorker(t)
    const checker = testlib(`
  if (right != 2 * n) quit(_fail, "the answer is wrong");
  if (said == -1) quit(_pe, "no number");
  quit(said == right ? _ok : _wa, "expected another number");`)

    const right = await judge(t, worker, checker, python(TWICE))
    const wrong = await judge(t, worker, checker, python('print(7)\n'))
    const nothing = await judge(t, worker, checker, python('print("seven")\n'))
    const fails = judge(t, worker, { ...checker, 'data/secret/1.ans': '9\n' }, python(TWICE))

    assert.deepEqual([right.verdict, wrong.verdict, nothing.verdict], ['AC', 'WA', 'WA'])
    assert.equal(wrong.tests[0]?.message, 'expected another number')
    await assert.rejects(fails, { message: 'The output validator ended with 3.', detail: /the answer is wrong/ })
  })

  test('may give points with 7', async (t) => {
    const worker = await openTestWorker(t)
    const files = {
      ...testlib('fprintf(stderr, "points %d well done", n); exit(_points);'),
      'problem.yaml': 'type: scoring\nvalidation: custom score\n',
      'data/testdata.yaml': 'grader_flags: ignore_sample',
    }

    assert.equal((await judge(t, worker, files, python(TWICE))).score, 501)
  })
})

describe('an interactive problem', { skip: noBoxes }, () => {
  const interactor = (body: string) => ({
    'problem.yaml': 'validation: custom interactive\nlimits: {time_limit: 1}\n',
    'output_validators/interact.py': `import sys\nn = int(open(sys.argv[1]).read())\ndef hear():\n  line = sys.stdin.readline()\n  return line.strip() if line else None\n${body}\n`,
  })
  const asking = interactor(`print(n, flush=True)\nsys.exit(42 if hear() == str(2 * n) else 43)`)

  test('the interactor hears what the program says, and the other way round', async (t) => {
    const worker = await openTestWorker(t)

    assert.equal((await judge(t, worker, asking, python(TWICE))).verdict, 'AC')
    assert.equal((await judge(t, worker, asking, python('input(); print(5)\n'))).verdict, 'WA')
  })

  test('whichever ends first decides: a crash after a rejection is not a Runtime Error, a crash before it is', async (t) => {
    const worker = await openTestWorker(t)
    const impatient = interactor(`hear()\nsys.exit(43)`)

    const rejected = await judge(t, worker, impatient, python('print(1, flush=True)\ninput()\n'))
    const crashed = await judge(t, worker, asking, python('raise SystemExit(3)\n'))
    const acceptedThenCrashed = await judge(
      t,
      worker,
      interactor('hear()\nsys.exit(42)'),
      python('print(1, flush=True)\nraise SystemExit(3)\n'),
    )

    assert.deepEqual([rejected.verdict, crashed.verdict, acceptedThenCrashed.verdict], ['WA', 'RE', 'RE'])
  })

  test('what a program still writes after it was accepted is read to the end', async (t) => {
    const worker = await openTestWorker(t)
    const brief = interactor('hear()\nsys.exit(42)')

    const talking = await judge(
      t,
      worker,
      brief,
      python('print(1, flush=True)\nfor i in range(20000): print("x" * 100)\n'),
    )

    assert.equal(talking.verdict, 'AC')
  })

  test('an interactor that fails because the program crashed does not hide the crash', async (t) => {
    const worker = await openTestWorker(t)
    const frail = interactor('int(sys.stdin.readline())\nsys.exit(42)')

    const crashed = await judge(t, worker, frail, python('raise SystemExit(3)\n'))

    assert.equal(crashed.verdict, 'RE')
    await assert.rejects(judge(t, worker, frail, python('pass\n')), {
      message: 'The output validator ended with 1.',
      final: true,
    })
  })

  test('a program that only waits is a Time Limit Exceeded, and one that ends without reading holds up nobody', async (t) => {
    const worker = await openTestWorker(t)
    const talkative = interactor('for i in range(100000): print("x" * 100)\nsys.stdout.flush()\nsys.exit(42)')

    const waiting = await judge(t, worker, interactor('hear()\nsys.exit(43)'), python('input()\n'))
    const deaf = await judge(t, worker, talkative, python('pass\n'))

    assert.equal(waiting.verdict, 'TLE')
    assert(waiting.timeMs >= 1000)
    assert.equal(deaf.verdict, 'AC')
  })
})

describe('a problem of several passes', { skip: noBoxes }, () => {
  const passes = (most: number) => ({
    'problem.yaml': `validation: custom multi-pass\nlimits: {validation_passes: ${most}}\n`,
    'output_validators/validate.py': `import os, sys
n, said = int(open(sys.argv[1]).read()), sys.stdin.read().split()
if said != [str(2 * n)]: sys.exit(43)
if n < 1000: open(sys.argv[3] + "nextpass.in", "w").write(str(2 * n))
sys.exit(42)
`,
  })

  test('is run on what the validator left, until it leaves nothing', async (t) => {
    const worker = await openTestWorker(t)

    assert.equal((await judge(t, worker, passes(12), python(TWICE))).verdict, 'AC')
    assert.equal((await judge(t, worker, passes(12), python('print(min(100, 2 * int(input())))\n'))).verdict, 'WA')
    await assert.rejects(judge(t, worker, passes(2), python(TWICE)), /more than 2 passes/)
  })
})

describe('a worker', { skip: noBoxes }, () => {
  /** A box that says of each run that the machine was too busy, so often. */
  const starving = (times: number) => {
    let left = times
    return (real: BoxRunner): BoxRunner => ({
      close: () => real.close(),
      async open(options) {
        const box = await real.open(options)
        return {
          close: () => box.close(),
          run: async (run) => ({ ...(await box.run(run)), starved: !run.argv.includes('py_compile') && left-- > 0 }),
          runSeries: (run, onReport) =>
            box.runSeries({ ...run, tests: run.tests.slice(0, 1) }, (report) =>
              onReport(left-- > 0 ? { ...report, starved: true, same: false } : report),
            ),
        }
      },
    })
  }

  test('runs a starved program again, and gives up when the machine stays busy', async (t) => {
    const busy = await openTestWorker(t, { runnerFrom: starving(2) })
    const tooBusy = await openTestWorker(t, { runnerFrom: starving(1000) })

    assert.equal((await judge(t, busy, {}, python(TWICE))).verdict, 'AC')
    await assert.rejects(judge(t, tooBusy, {}, python(TWICE)), /too busy/)
  })

  test('stops at once when the attempt is interrupted, and goes on with the next one', async (t) => {
    const worker = await openTestWorker(t)
    const interruption = new AbortController()
    const context = { signal: interruption.signal, onCompiled: () => setImmediate(() => interruption.abort()) }
    const files = { 'problem.yaml': 'limits: {time_limit: 60}\n' }

    const interrupted = judge(t, worker, files, { ...python('while True: pass\n'), context })

    await assert.rejects(interrupted, Interrupted)
    assert.equal((await judge(t, worker, files, python(TWICE))).verdict, 'AC')
  })

  test('a table of languages may add and remove languages', async (t) => {
    const worker = await openTestWorker(t, {
      languages: (shipped) => {
        const shell = {
          id: 'sh',
          name: 'Shell',
          extensions: ['.sh'],
          source: 'main.sh',
          version: ['sh', '-c', 'echo 1'],
        }
        return new Map([['sh', { ...shell, run: ['sh', '{entry}'] }], ...[...shipped].filter(([id]) => id === 'c')])
      },
    })

    const judged = await judge(t, worker, {}, { language: 'sh', code: 'read n; echo $((2 * n))\n' })

    assert.equal(judged.verdict, 'AC')
    assert.deepEqual([...worker.toolchains.keys()], ['sh', 'c'])
    await assert.rejects(judge(t, worker, {}, python(TWICE)), /cannot run python3/)
  })
})
