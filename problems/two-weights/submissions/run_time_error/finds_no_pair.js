const [first, second] = require('fs').readFileSync(0, 'utf8').split('\n')
const parcel = Number(first.split(' ')[1])
const weights = second.split(' ').map(Number)
const known = new Map()
const at = weights.findIndex((weight, i) => {
  if (known.has(parcel - weight)) return true
  known.set(weight, i)
  return false
})
console.log(at + 1, known.get(parcel - weights[at]).valueOf() + 1)
