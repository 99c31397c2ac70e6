// The operator's page: sign in, see what waits, claim it, solve it.
import { get, keepToken, send, session, TASKS, token } from './api.js'
import { follow } from './live.js'
import { attempt, say } from './page.js'
import { openQueue } from './queue.js'
import { openTask } from './task.js'

const ROLE = 'OPERATOR'

const [account, signIn, signOut, desk, live, name, place] = [
  'account',
  'sign-in',
  'sign-out',
  'desk',
  'live',
  'name',
  'task',
].map((id) => document.getElementById(id))
const nothingInHand = place.firstElementChild

/** How to put everything away that was opened for the operator. */
let leave = () => {}

signIn.addEventListener('submit', (event) => {
  event.preventDefault()
  void attempt(signIn, async () => {
    const { username, password } = Object.fromEntries(new FormData(signIn))
    const { access_token: value } = await send('POST', '/auth/login', { username, password })
    keepToken(value)
    signIn.reset()
    await enter()
  })
})

signOut.addEventListener('click', () =>
  attempt(signOut, async () => {
    await giveTokenBack()
    showSignIn()
    say('You are signed out.')
  }),
)

session.addEventListener('ended', ({ detail: sentence }) => {
  showSignIn()
  say(sentence, 'bad')
})

if (token() === null) showSignIn()
else enter().catch((error) => (showSignIn(), say(error.message, 'bad')))

function showSignIn() {
  leave()
  leave = () => {}
  account.hidden = desk.hidden = true
  signIn.hidden = false
  signIn.elements.namedItem('username').focus()
}

async function giveTokenBack() {
  await send('POST', '/auth/logout').finally(() => keepToken(null))
}

async function enter() {
  const { username, roles } = await get('/auth/me')
  if (!roles.includes(ROLE)) {
    await giveTokenBack()
    throw new Error(`${username} may not work here: the account does not have the role ${ROLE}.`)
  }
  name.textContent = username
  signIn.hidden = true
  account.hidden = desk.hidden = false
  leave = openDesk(username)
}

function openDesk(username) {
  let inHand = null

  const onClaim = (task, button) =>
    attempt(button, async () => {
      const claimed = await send('POST', `${TASKS}/${task.uuid}/assign`, { operator_id: username })
      inHand?.close()
      const onGone = (sentence, kind) => {
        inHand = null
        place.replaceChildren(nothingInHand)
        if (sentence !== '') say(sentence, kind)
        queue.focus()
        void queue.refresh()
      }
      inHand = openTask(place, { task: claimed.task, username, onGone })
      void queue.refresh()
    })

  const onMine = (mine) => {
    if (inHand !== null && !mine.includes(inHand.uuid)) void inHand.doubt()
  }
  const queue = openQueue({ username, onClaim, onMine })
  const unfollow = follow(token(), {
    onState(isConnected) {
      live.textContent = isConnected ? 'live' : 'connecting …'
      live.classList.toggle('on', isConnected)
      void queue.refresh() // also where the token is not known any more: a socket cannot tell that
    },
    onEvent: () => void queue.refresh(),
  })
  return () => {
    unfollow()
    inHand?.close()
    queue.close()
  }
}
