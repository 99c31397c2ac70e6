// The envelope of the paths under /api/: { success, data, error, meta }. Messages are Korean by default, or English if
// Accept-Language asks for it.
import { Type, type Static, type TSchema } from 'typebox'
import { isoNow, type Clock } from '../../clock.ts'
import type { CoreCode, ErrorReport } from './http-error.ts'

export interface Wording {
  /** The code on the wire, where it differs from the error's own. */
  code?: string
  ko: string
  en: string
}

const BAD_REQUEST = { code: 'bad_request', ko: '요청 형식이 올바르지 않습니다.', en: 'The request is not valid.' }

export const ENVELOPE_WORDS = {
  bad_request: BAD_REQUEST,
  invalid_json: { code: 'bad_request', ko: '요청 본문이 올바른 JSON이 아닙니다.', en: 'The body is not valid JSON.' },
  validation_failed: BAD_REQUEST,
  unsupported_media_type: {
    code: 'bad_request',
    ko: 'Content-Type은 application/json이어야 합니다.',
    en: 'The Content-Type must be application/json.',
  },
  unauthorized: { ko: '인증 토큰이 없거나 유효하지 않습니다.', en: 'The token is missing, expired or not valid.' },
  invalid_credentials: {
    code: 'unauthorized',
    ko: '사용자명 또는 비밀번호가 올바르지 않습니다.',
    en: 'The username or the password is wrong.',
  },
  forbidden: { ko: '권한이 없습니다.', en: 'This account may not do that.' },
  not_found: { ko: '존재하지 않는 경로입니다.', en: 'There is no such path.' },
  method_not_allowed: { ko: '허용되지 않는 메서드입니다.', en: 'The path does not know this method.' },
  request_timeout: { ko: '요청 수신 시간이 초과되었습니다.', en: 'The request took too long to arrive.' },
  misdirected_request: {
    ko: '이 서버가 담당하지 않는 호스트입니다.',
    en: 'This server does not answer for that host.',
  },
  registration_closed: { code: 'forbidden', ko: '회원 가입이 닫혀 있습니다.', en: 'Registration is closed.' },
  conflict: { ko: '현재 상태와 충돌하는 요청입니다.', en: 'The request conflicts with the present state.' },
  too_large: { ko: '요청 본문이 너무 큽니다.', en: 'The body is too large.' },
  upgrade_required: { ko: 'WebSocket 연결이 필요한 경로입니다.', en: 'This path speaks WebSocket.' },
  rate_limited: {
    ko: '시도 횟수를 초과했습니다. 잠시 후 다시 시도해 주세요.',
    en: 'Too many attempts. Try again later.',
  },
  internal_error: { ko: '서버 내부 오류가 발생했습니다.', en: 'Something went wrong on the server.' },
  unavailable: { ko: '서버를 일시적으로 사용할 수 없습니다.', en: 'The server is not available for the moment.' },
  duplicate_user: { ko: '이미 존재하는 사용자명입니다.', en: 'The username is taken.' },
} satisfies Record<CoreCode | 'duplicate_user', Wording>

export interface EnvelopeFormat {
  success<const Data extends object>(
    data: Data,
  ): { success: true; data: Data; error: null; meta: { timestamp: string } }
  errorBody(report: ErrorReport): Static<typeof Failure>
}

/** `more` adds the messages of a door's own codes. */
export function openEnvelope(clock: Clock, more: Readonly<Record<string, Wording>> = {}): EnvelopeFormat {
  const words = new Map<string, Wording>(Object.entries({ ...ENVELOPE_WORDS, ...more }))
  const meta = () => ({ timestamp: isoNow(clock) })

  return {
    success: (data) => ({ success: true, data, error: null, meta: meta() }),
    errorBody(report) {
      const wording = words.get(report.code)
      const code = wording?.code ?? report.code
      const message = wording === undefined ? report.message : wording[languageOf(report.acceptLanguage)]
      return { success: false, data: null, error: { code, message, detail: null }, meta: meta() }
    },
  }
}

/** Korean, unless English is requested with a higher quality than Korean, or first. */
export function languageOf(acceptLanguage: string): 'ko' | 'en' {
  let best: { language: 'ko' | 'en'; quality: number } = { language: 'ko', quality: 0 }
  for (const item of acceptLanguage.slice(0, 200).toLowerCase().split(',')) {
    const [tag = '', ...parameters] = item.split(';').map((part) => part.trim())
    const language = /^(ko|en)(-|$)/.exec(tag)?.[1]
    const given = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = given === undefined ? 1 : Number(given.slice(2))
    if ((language === 'ko' || language === 'en') && quality > best.quality) best = { language, quality }
  }
  return best.language
}

const Meta = Type.Object({ timestamp: Type.String({ format: 'date-time' }) })

export const Success = <Data extends TSchema>(data: Data) =>
  Type.Object({ success: Type.Literal(true), data, error: Type.Null(), meta: Meta })

export const Failure = Type.Object({
  success: Type.Literal(false),
  data: Type.Null(),
  error: Type.Object({ code: Type.String(), message: Type.String(), detail: Type.Null() }),
  meta: Meta,
})
