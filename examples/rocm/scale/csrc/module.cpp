// What Python sees: functions over one contiguous buffer. scale/__init__.py checks its type.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <string>

#include "scale.h"

namespace {

PyObject* available(PyObject*, PyObject*) { return PyBool_FromLong(gpu_available()); }

// scale(factor, x, on_gpu)
template <typename T>
PyObject* scale(PyObject*, PyObject* arguments) {
  double factor;
  Py_buffer x;
  int on_gpu;
  if (!PyArg_ParseTuple(arguments, "dw*p", &factor, &x, &on_gpu)) return nullptr;
  const auto data = static_cast<T*>(x.buf);
  const std::size_t count = x.len / sizeof(T);
  std::string error;
  Py_BEGIN_ALLOW_THREADS
  try {
    if (on_gpu) {
      scale_on_gpu<T>(static_cast<T>(factor), data, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) data[i] *= static_cast<T>(factor);
    }
  } catch (const std::exception& exception) {
    error = exception.what();
  }
  Py_END_ALLOW_THREADS
  PyBuffer_Release(&x);
  if (error.empty()) Py_RETURN_NONE;
  PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return nullptr;
}

PyMethodDef methods[] = {
    {"gpu_available", available, METH_NOARGS, nullptr},
    {"scale_float32", scale<float>, METH_VARARGS, nullptr},
    {"scale_float64", scale<double>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
