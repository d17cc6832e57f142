// Points in time, in the reader's own clock.

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const minute = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** Seconds since 1970, or ISO 8601. */
const dated = (time) => new Date(typeof time === "number" ? time * 1000 : time);

export const onDay = (time) => day.format(dated(time));
export const atMinute = (time) => minute.format(dated(time));
export const now = () => clock.format(new Date());

/** Fills <time data-seconds="…"> that the server has left to the browser. */
export function showTimes(root) {
  for (const one of root.querySelectorAll("time[data-seconds]")) {
    const seconds = Number(one.dataset.seconds);
    one.dateTime = new Date(1000 * seconds).toISOString();
    one.textContent = atMinute(seconds);
  }
}
