// A Python iterator driven from a thread of its own.
#include "base/ahead.hpp"

#include "bind/arrays.hpp"

namespace thresher::bind {

namespace {

/// A Python reference that may be dropped on any thread: it takes the interpreter lock to do so.
class Held {
 public:
  Held() = default;
  Held(nb::object object, bool failed) : object_(object.release().ptr()), failed(failed) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)), failed(other.failed) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(failed, other.failed);
    return *this;
  }
  ~Held() {
    if (object_ == nullptr) return;
    const nb::gil_scoped_acquire gil;
    Py_DECREF(object_);
  }
  nb::object take() { return nb::steal(std::exchange(object_, nullptr)); }

 private:
  PyObject* object_ = nullptr;

 public:
  bool failed = false;  // the object is the exception that ended the iteration
};

/// Runs a Python iterator ahead of its consumer. The interpreter lock is held only for the Python
/// parts of the iteration, so two native calls (parse there, learn here) run at the same time.
class AheadIterator {
 public:
  AheadIterator(nb::object iterator, std::size_t depth)
      : iterator_(std::move(iterator), false), ahead_([this] { return produce(); }, depth) {}

  /// The thread may be waiting for the interpreter lock: never join it while holding that.
  ~AheadIterator() { close(); }

  nb::object next() {
    using Queue = Ahead<Held>;
    Held item;
    for (;;) {
      Queue::State state;
      {
        const nb::gil_scoped_release nogil;
        state = ahead_.next(item, std::chrono::milliseconds(50));
      }
      if (state == Queue::State::item) break;
      if (state == Queue::State::end) throw nb::stop_iteration();
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::object out = item.take();
    if (item.failed) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(out.ptr())), out.ptr());
      throw nb::python_error();
    }
    return out;
  }

  void close() {
    const nb::gil_scoped_release nogil;
    ahead_.stop();
  }

 private:
  std::optional<Held> produce() {
    if (ended_) return std::nullopt;
    const nb::gil_scoped_acquire gil;
    if (borrowed_ == nullptr) borrowed_ = iterator_.take().release().ptr();
    PyObject* item = PyIter_Next(borrowed_);
    if (item != nullptr) return Held(nb::steal(item), false);
    ended_ = true;
    Py_CLEAR(borrowed_);
    if (PyErr_Occurred() == nullptr) return std::nullopt;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return Held(nb::steal(value), true);
  }

  Held iterator_;
  PyObject* borrowed_ = nullptr;
  bool ended_ = false;
  Ahead<Held> ahead_;
};

}  // namespace

void bind_ahead(nb::module_& m) {
  nb::class_<AheadIterator>(m, "Ahead", nb::is_weak_referenceable())
      .def(nb::init<nb::object, std::size_t>(), nb::arg("iterator"), nb::arg("depth"))
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &AheadIterator::next)
      .def("close", &AheadIterator::close);
}

}  // namespace thresher::bind
