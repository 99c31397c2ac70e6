// The signed requests of this door, in either direction. How they leave and are logged is core/deliveries.
export const CALLBACK_TOPIC = 'challenge_callback'
export const SEND_TOPIC = 'challenge_send'
