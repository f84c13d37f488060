// What Python sees: functions over contiguous buffers. vecadd/__init__.py checks shapes and types.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <string>

#include "vecadd.h"

namespace {

PyObject* cuda_available(PyObject*, PyObject*) {
  int devices = 0;
  return PyBool_FromLong(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0);
}

// add(x, y, z, on_cuda)
template <typename T>
PyObject* add(PyObject*, PyObject* arguments) {
  Py_buffer x, y, z;
  int on_cuda;
  if (!PyArg_ParseTuple(arguments, "y*y*w*p", &x, &y, &z, &on_cuda)) return nullptr;
  std::string error;
  if (x.len != y.len || x.len != z.len) {
    error = "buffers differ in length";
  } else {
    Py_BEGIN_ALLOW_THREADS
    try {
      const auto run = on_cuda ? add_on_cuda<T> : add_on_cpu<T>;
      run(static_cast<const T*>(x.buf), static_cast<const T*>(y.buf), static_cast<T*>(z.buf), z.len / sizeof(T));
    } catch (const std::exception& exception) {
      error = exception.what();
    }
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&x);
  PyBuffer_Release(&y);
  PyBuffer_Release(&z);
  if (error.empty()) Py_RETURN_NONE;
  PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return nullptr;
}

PyMethodDef methods[] = {
    {"cuda_available", cuda_available, METH_NOARGS, nullptr},
    {"add_float32", add<float>, METH_VARARGS, nullptr},
    {"add_float64", add<double>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
