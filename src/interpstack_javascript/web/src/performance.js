// performance.now() and performance.timeOrigin on the host's clock.
export function createPerformance(kernel) {
  class Performance {
    #timeOrigin = true;

    now() {
      this.#timeOrigin;
      return kernel.now() - kernel.timeOrigin();
    }

    get timeOrigin() {
      this.#timeOrigin;
      return kernel.timeOrigin();
    }

    toJSON() {
      return { timeOrigin: this.timeOrigin };
    }
  }
  Object.defineProperty(Performance.prototype, Symbol.toStringTag, { value: "Performance", configurable: true });
  return new Performance();
}
