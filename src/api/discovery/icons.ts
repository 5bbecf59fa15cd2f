/** A rising line. */
export const SVG_ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#123"/>' +
  '<path d="M5 20l6-6 5 5 6-9 5 6" fill="none" stroke="#6fc" stroke-width="3"/></svg>'

/** The same as 32 x 32 pixels, an ICO around a PNG: browsers ask for it where a page names no icon, and JSON names none. */
export const PIXEL_ICON = Buffer.from(
  'AAABAAEAICAAAAEAIAAPAQAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAQDAAAAgVRnxwAAABtQTFRFESIzESIzESIzLWxm' +
    'PJCAZv/MH0dMWNqySrWZA7gX5wAAAAl0Uk5TAID/////////QnIY6AAAAJpJREFUeNqtkkEOwiAQRb+eoPEESkndt/ECRG7A167Z' +
    'uG/i/Z1paSOwMamsyOO/ycAAHMzXagCYbAHHHJxxysGlMMTZBdq+AD7koCP7DFzJxwYGNfh+xgQsnRjhxSkBzyDG1HFcgCXpPKO5' +
    'SVnMgTtHCcnJDKzsPdXX4tCAUyuurbcaTm0m4LaLLI0Nf3ygn0E1qGqU1bDL7/ABIpxOqCgno7UAAAAASUVORK5CYII=',
  'base64',
)
