const [d, s] = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number)
console.log(2 * Math.hypot(d / 2, s))
