// The error codes of the arena with their messages in Korean and English, for HTTP and for WebSockets.
import { systemClock } from '../../core/clock.ts'
import { ENVELOPE_WORDS, Failure, openEnvelope, type Wording } from '../../core/http/errors/envelope.ts'
import { HttpError } from '../../core/http/errors/http-error.ts'

const ARENA_WORDS = {
  queue_duplicate: {
    ko: '이미 대기열에 있거나 진행 중인 세션이 있습니다.',
    en: 'You are queued or in a session already.',
  },
  queue_timeout: { ko: '제한 시간 안에 상대를 찾지 못했습니다.', en: 'No opponent was found in time.' },
  queue_not_found: { ko: '취소할 대기열 항목이 없습니다.', en: 'You are not in the queue.' },
  session_not_found: { ko: '존재하지 않는 세션입니다.', en: 'There is no such session.' },
  session_closed: { ko: '이미 종료된 세션입니다.', en: 'The session has ended.' },
  session_full: { ko: '관전 인원이 가득 찼습니다.', en: 'No more can watch this session.' },
  not_participant: { ko: '세션 참가자가 아닙니다.', en: 'You are not a player of this session.' },
  input_invalid: { ko: '입력 값이 올바르지 않습니다.', en: 'The input is not valid.' },
  leaderboard_range: { ko: '페이지 또는 크기가 범위를 벗어났습니다.', en: 'The page or the size is out of range.' },
  invalid_resume_token: { ko: '재연결 토큰이 올바르지 않습니다.', en: 'The resume token is not valid.' },
  unknown_event: { code: 'bad_request', ko: '지원하지 않는 이벤트입니다.', en: 'There is no such event.' },
  too_fast: {
    code: 'rate_limited',
    ko: '메시지가 너무 빠릅니다. 일부가 처리되지 않았습니다.',
    en: 'Messages come too fast. Some were dropped.',
  },
  code_mismatch: {
    code: 'bad_request',
    ko: 'code는 private 모드에서만, 그리고 반드시 필요합니다.',
    en: 'Mode private requires a code, and no other mode takes one.',
  },
  player_not_found: { code: 'not_found', ko: '존재하지 않는 플레이어입니다.', en: 'There is no such player.' },
  match_not_found: { code: 'not_found', ko: '존재하지 않는 매치입니다.', en: 'There is no such match.' },
  idempotency_conflict: {
    ko: '같은 Idempotency-Key가 다른 본문과 함께 사용되었습니다.',
    en: 'This Idempotency-Key was used with another body.',
  },
} as const satisfies Record<string, Wording>

const STATUS = {
  queue_duplicate: 409,
  queue_not_found: 404,
  leaderboard_range: 400,
  match_not_found: 404,
  code_mismatch: 400,
  player_not_found: 404,
} as const satisfies Partial<Record<keyof typeof ARENA_WORDS, number>>

export const envelope = openEnvelope(systemClock, ARENA_WORDS)

export const arenaError = (code: keyof typeof STATUS): HttpError => new HttpError(STATUS[code], code, '')

/** Response schemas for the OpenAPI description of a route. */
export const refusals = { 400: Failure, 401: Failure } as const

export type MessageLanguage = 'ko' | 'en'

/** Errors that answer a message on a WebSocket. */
export const SOCKET_ERRORS = {
  bad_request: ENVELOPE_WORDS.bad_request,
  invalid_json: {
    ...ENVELOPE_WORDS.invalid_json,
    ko: '메시지가 올바른 JSON이 아닙니다.',
    en: 'The message is not valid JSON.',
  },
  unavailable: ENVELOPE_WORDS.unavailable,
  unknown_event: ARENA_WORDS.unknown_event,
  too_fast: ARENA_WORDS.too_fast,
  queue_timeout: ARENA_WORDS.queue_timeout,
  queue_duplicate: ARENA_WORDS.queue_duplicate,
  session_not_found: ARENA_WORDS.session_not_found,
  session_closed: ARENA_WORDS.session_closed,
  session_full: ARENA_WORDS.session_full,
  not_participant: ARENA_WORDS.not_participant,
  input_invalid: ARENA_WORDS.input_invalid,
  invalid_resume_token: ARENA_WORDS.invalid_resume_token,
} as const satisfies Record<string, Wording>

export type SocketError = keyof typeof SOCKET_ERRORS

export const isSocketError = (code: string): code is SocketError => Object.hasOwn(SOCKET_ERRORS, code)
