// Usernames are stored as given and compared by their folded form, so that "Ann", "ann" and a full-width "ａｎｎ" are equal.

const USERNAME_CHARS_MAX = 120
// Folding can lengthen a name (one Arabic ligature becomes 18 letters), and index entries are bounded.
const KEY_CHARS_MAX = 240
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

// What a deleted account is shown as.
const DELETED_NAME = /^deleted-\d+$/

export const usernameKey = (username: string): string => username.normalize('NFKC').toLowerCase()

/** An email address is a valid username. */
export const isUsername = (username: string): boolean =>
  username.length > 0 &&
  username.length <= USERNAME_CHARS_MAX &&
  username === username.trim() &&
  !INVISIBLE.test(username) &&
  usernameKey(username).length <= KEY_CHARS_MAX &&
  usernameKey(username).trim() !== '' &&
  !DELETED_NAME.test(usernameKey(username))
