// A plug-in: further types of problems for a Reeve that plays the Solver. SOLVER_PLUGINS=examples/solvers.js npm start
import { defineSolvers, Unsolvable } from '@reeve/sdk/solvers'

export const solvers = defineSolvers({
  /** {"type":"caesar","text":"Khoor","shift":-3} */
  caesar({ text, shift }) {
    if (typeof text !== 'string' || !Number.isInteger(shift)) {
      throw new Unsolvable('INVALID_PROBLEM', 'text must be a string and shift an integer.')
    }
    const turned = (letter, first) => String.fromCharCode(((((letter - first + shift) % 26) + 26) % 26) + first)
    return text.replace(/[a-z]/gi, (found) => turned(found.charCodeAt(0), found <= 'Z' ? 65 : 97))
  },

  /** {"type":"nth_prime","n":1000}: stops when it is told to. */
  async nth_prime({ n }, { signal }) {
    if (!Number.isInteger(n) || n < 1) throw new Unsolvable('INVALID_PROBLEM', 'n must be an integer from 1.')
    const primes = [2]
    for (let candidate = 3; primes.length < n; candidate += 2) {
      if (candidate % 10_001 === 0) await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      if (isPrime(candidate, primes)) primes.push(candidate)
    }
    return String(primes[n - 1])
  },
})

function isPrime(candidate, primes) {
  for (const prime of primes) {
    if (prime * prime > candidate) return true
    if (candidate % prime === 0) return false
  }
  return true
}
