// How long the lock of the task in hand lasts, second by second.
import { now } from './api.js'
import { say, span } from './page.js'

const WARNING_MS = 120_000

export function watchLock(place, { until, onOver }) {
  let isLate = false
  const tick = () => {
    const leftMs = until - now()
    if (leftMs <= 0) return onOver()
    place.textContent = `${span(leftMs)} left of your lock`
    place.classList.toggle('late', leftMs < WARNING_MS)
    if (leftMs < WARNING_MS && !isLate) say('Your lock is over in two minutes. Renew it to go on.', 'bad')
    isLate = leftMs < WARNING_MS
    return undefined
  }
  const timer = setInterval(tick, 1000)
  tick()

  return {
    renew(moment) {
      until = moment
      tick()
    },
    stop: () => clearInterval(timer),
  }
}
